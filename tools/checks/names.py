"""clang-tidy's identifier naming over every source of a build tree: names.py ROOT BUILD [part of a path ...]."""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import tree

CLANG_TIDY = "clang-tidy-19"


def check(source, build):
    run = subprocess.run([CLANG_TIDY, "-p", build, "--quiet", source], capture_output=True, text=True)
    problems = [line for line in run.stdout.splitlines() if ": error: " in line]
    return problems if problems or run.returncode == 0 else [f"{source}: {run.stdout}{run.stderr}"]


def apart(entry):
    """A source that is several in one (SCYPER_UNITE), as those; any other as it is."""
    if "/Unity/" not in entry["file"]:
        return [entry]
    with open(entry["file"], encoding="utf-8") as file:
        parts = re.findall(r'^#include "(.+)"$', file.read(), re.MULTILINE)
    return [{"directory": entry["directory"], "file": part, "command": entry["command"].replace(entry["file"], part)} for part in parts]


def problems_of(root, build, parts):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = [one for entry in json.load(file) for one in apart(entry)]
    ours = sorted(source for source in {entry["file"] for entry in entries} if source.startswith(root + "/")
                  and not source.startswith(os.path.join(root, "build") + "/")
                  and (not parts or any(part in source for part in parts)))
    with tempfile.TemporaryDirectory() as commands, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        with open(os.path.join(commands, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(entries, file)
        found = set()
        for problems in pool.map(lambda source: check(source, commands), ours):
            found.update(problem.replace(root + "/", "") for problem in problems)
    return sorted(found)


if __name__ == "__main__":
    tree.finish(problems_of(os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]), "names as in .clang-tidy")
