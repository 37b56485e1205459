#!/usr/bin/env python3
"""Scripts as applications write them, through psql on a node and on a throwaway PostgreSQL: every line of the answers.

Usage: postgres_scripts.py SCYPERD [SCRIPT...]
Each script of scripts/ runs in a database of its own. Compared are rows, tags, notices, and errors with SQLSTATE, detail
and hint; not where in a text an error is. The exit code counts the scripts that differ.
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

from postgres_servers import Node, Postgres
from checks import CHECKS, expect

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
# What a node does not tell, or tells of its own files; the places in texts.
LEFT_OUT = re.compile(r"^(LOCATION|CONTEXT|QUERY):.*\n(?:(?:PL/pgSQL|SQL) .*\n)*|^LINE \d+:.*\n.*\n", re.MULTILINE)


def answers(conninfo, script):
    done = subprocess.run(["psql", "-X", "-a", "-v", "VERBOSITY=verbose", "-P", "null=NULL", "-f", script, "-d", conninfo], timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return LEFT_OUT.sub("", re.sub(r"^psql:\S+ ", "", done.stdout, flags=re.MULTILINE))


def main():
    scripts = [pathlib.Path(name) for name in sys.argv[2:]] or sorted(SCRIPTS.glob("*.sql"))
    postgres = Postgres(tempfile.mkdtemp(prefix="postgres_scripts."))
    try:
        for script in scripts:
            subprocess.run(["psql", "-Xqd", postgres.conninfo, "-c", f'CREATE DATABASE "{script.stem}"'], check=True)
            wanted = answers(postgres.conninfo.replace("dbname=postgres", f"dbname={script.stem}"), script)
            node = Node(sys.argv[1])
            found = answers(node.conninfo.replace("user=postgres", "user=scyper"), script)
            differences = list(difflib.unified_diff(wanted.splitlines(), found.splitlines(), "postgres", "node", lineterm="", n=2))
            expect(script.stem, not differences, "\n".join(differences[:60]))
            expect(f"{script.stem}: the node stops as it should", node.stop() == 0)
    finally:
        postgres.stop()
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
