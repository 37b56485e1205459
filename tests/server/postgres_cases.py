#!/usr/bin/env python3
"""Scripts that once failed (tests/data/cases), through psql on a fresh node each.

Usage: postgres_cases.py SCYPERD [NUMBER...]
Each check says what it found; the exit code counts the failures.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import threading

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
from checks import CHECKS, PATIENCE_S, expect

CASES = TESTS / "data/cases"
LINE = re.compile(r"^psql:[\w.]+:\d+: ", re.M)
PSQL = ["psql", "-X", "-A", "-P", "footer=off", "-P", "null=<N>", "-v", "VERBOSITY=sqlstate"]


def answer(program, case):
    """What psql prints for a case, and whether the node outlived it."""
    node = subprocess.Popen([program, "--listen", "127.0.0.1:0", "--http-listen", "", "--postgres-listen", "127.0.0.1:0", "--memory", "512MB", "--partitions", "4", "--workers",
                             "2"], stdout=subprocess.PIPE, text=True)
    try:
        line = next(line for line in node.stdout if "PostgreSQL clients on port" in line)
        port = re.search(r"PostgreSQL clients on port (\d+)", line)[1]
        threading.Thread(target=node.stdout.read, daemon=True).start()
        done = subprocess.run([*PSQL, "-h", "127.0.0.1", "-p", port, "-U", "scyper", "-d", "scyper", "-f", case.name], cwd=case.parent, env={**os.environ, "TZ": "UTC", "PGTZ": "UTC"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
        return done.stdout, node.poll() is None
    finally:
        node.kill()
        node.wait(timeout=PATIENCE_S)


def main():
    program, numbers = sys.argv[1], sys.argv[2:]
    for case in sorted(CASES.glob("*.sql")):
        if numbers and case.stem not in numbers:
            continue
        symptom = case.read_text().split("\n", 1)[0].removeprefix("-- symptom: ")
        found, outlived = answer(program, case)
        wanted, found = (LINE.sub("psql: ", text) for text in (case.with_suffix(".expected").read_text(), found))
        expect(f"{case.stem}: the node outlives it", outlived)
        difference = "\n".join(difflib.unified_diff(wanted.splitlines(), found.splitlines(), "PostgreSQL", "here", lineterm=""))
        expect(f"{case.stem}: {symptom}", found == wanted, "\n" + difference)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
