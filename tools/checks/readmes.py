"""Each folder has a README.md of at most 40 lines."""

import os
import sys

import tree

LINES = 40


def problems_of(root):
    for folder in tree.FOLDERS:
        path = os.path.join(folder, "README.md")
        if not os.path.isfile(os.path.join(root, path)):
            yield f"{path}: missing"
        elif (lines := len(tree.read(root, path).splitlines())) > LINES:
            yield f"{path}: {lines} lines, at most {LINES}"


if __name__ == "__main__":
    tree.finish(list(problems_of(sys.argv[1])), "every folder says what it is for, in at most 40 lines")
