#!/usr/bin/env python3
"""Drivers from their registries against a node: asyncpg (PyPI) and node-postgres (npm).

Usage: postgres_drivers.py SCYPERD
tools/install-packages puts them into ~/.cache/scyper/postgres-clients; what is not there is skipped by name. Each check
says what it found; the exit code counts the failures.
"""
import os
import pathlib
import shutil
import subprocess
import sys

from postgres_servers import CHECKS, PATIENCE_S, Node, expect

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = pathlib.Path.home() / ".cache" / "scyper" / "postgres-clients"


def run(what, command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          env={**os.environ, **(environment or {})})
    print(done.stdout, end="", flush=True)
    expect(f"{what}'s script", done.returncode == 0, done.stderr[-1500:])


def main():
    python = CLIENTS / "bin" / "python"
    node_program = shutil.which("node") or shutil.which("nodejs")
    has_asyncpg = python.exists()
    has_node = node_program is not None and (CLIENTS / "node_modules" / "pg").exists()
    if not has_asyncpg:
        print(f"skip  asyncpg: no {python} (tools/install-packages)", flush=True)
    if not has_node:
        print("skip  node-postgres: no node, or no package pg (tools/install-packages)", flush=True)
    if not has_asyncpg and not has_node:
        return 0
    node = Node(sys.argv[1])
    if has_asyncpg:
        run("asyncpg", [python, HERE / "postgres_asyncpg.py", str(node.port)])
    if has_node:
        run("node-postgres", [node_program, HERE / "postgres_driver.cjs", str(node.port)], {"NODE_PATH": str(CLIENTS / "node_modules")})
    expect("the node stops", node.stop() == 0)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
