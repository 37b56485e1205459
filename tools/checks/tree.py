"""What the checks share: the files of the tree, C++ text without comments and strings, the report."""

import os
import subprocess
import sys

FOLDERS = ("base proto storage replication replay consensus query primary secondary server client bench tests kmod "
           "deploy").split()


def files(root, *suffixes):
    """Paths, relative to root, of the project's files that end in one of the suffixes, sorted."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True,
                             check=True).stdout.decode()
        found = [path for path in out.split("\0") if os.path.isfile(os.path.join(root, path))]
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        found = []
        for folder, names, leaves in os.walk(root):
            names[:] = [name for name in names if name not in ("build", ".git")]
            found += [os.path.relpath(os.path.join(folder, leaf), root) for leaf in leaves]
    return sorted(set(path for path in found if path.endswith(suffixes)))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def entries(root, path):
    """The lines of a list file without comments and empty lines."""
    lines = (line.split("#")[0].strip() for line in read(root, path).splitlines())
    return [line for line in lines if line]


def layers(root):
    """tools/checks/layers.txt as {folder: set of folders it may use}."""
    pairs = (line.split(":") for line in entries(root, "tools/checks/layers.txt"))
    return {folder.strip(): set(uses.split()) for folder, uses in pairs}


def finish(problems, rule):
    """Prints what is wrong and what the rule is; the exit code for ctest."""
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} problem(s). Rule: {rule}")
    sys.exit(1 if problems else 0)
