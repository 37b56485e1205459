"""clang-tidy's identifier naming over every source of a build tree: names.py ROOT BUILD [part of a path ...]."""

import concurrent.futures
import json
import os
import subprocess
import sys

import tree

CLANG_TIDY = "clang-tidy-19"


def check(source, build):
    run = subprocess.run([CLANG_TIDY, "-p", build, "--quiet", source], capture_output=True, text=True)
    problems = [line for line in run.stdout.splitlines() if ": error: " in line]
    return problems if problems or run.returncode == 0 else [f"{source}: {run.stdout}{run.stderr}"]


def problems_of(root, build, parts):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        sources = {entry["file"] for entry in json.load(file)}
    ours = sorted(source for source in sources if source.startswith(root + "/")
                  and not source.startswith(os.path.join(root, "build") + "/")
                  and (not parts or any(part in source for part in parts)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = set()
        for problems in pool.map(lambda source: check(source, build), ours):
            found.update(problem.replace(root + "/", "") for problem in problems)
    return sorted(found)


if __name__ == "__main__":
    tree.finish(problems_of(os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]), "names as in .clang-tidy")
