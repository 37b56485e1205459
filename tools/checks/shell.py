"""shellcheck over every shell script: known by its first line."""

import os
import subprocess
import sys

import tree


def scripts(root):
    for path in tree.files(root, ""):
        with open(os.path.join(root, path), "rb") as file:
            first = file.readline(64)
        if first.startswith(b"#!") and first.split()[-1].rsplit(b"/", 1)[-1] in (b"sh", b"bash"):
            yield path


def problems_of(root):
    run = subprocess.run(["shellcheck", "--format=gcc", *scripts(root)], capture_output=True, text=True, cwd=root, check=False)
    return run.stdout.splitlines() + run.stderr.splitlines()


if __name__ == "__main__":
    tree.finish(problems_of(sys.argv[1]), "shellcheck finds nothing")
