"""clang-format over the tree. With --fix it formats instead of complaining."""

import subprocess
import sys

import tree

CLANG_FORMAT = "clang-format-19"


def unformatted(root, fix=False):
    paths = tree.files(root, ".cc", ".h", ".c")
    mode = ["-i"] if fix else ["--dry-run", "-Werror"]
    problems = []
    for start in range(0, len(paths), 100):
        run = subprocess.run([CLANG_FORMAT, *mode, *paths[start:start + 100]], cwd=root, capture_output=True, text=True)
        found = {}  # the first line of each file
        for line in run.stderr.splitlines():
            if ": error: " in line:
                found.setdefault(line.split(":")[0], line.split(" [-W")[0])
        problems += found.values() if found or run.returncode == 0 else [run.stderr]
    return problems


if __name__ == "__main__":
    tree.finish(unformatted(sys.argv[1], "--fix" in sys.argv), "formatted by clang-format 19 (make format)")
