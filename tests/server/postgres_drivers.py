#!/usr/bin/env python3
"""Drivers from their registries against a node: asyncpg (PyPI), node-postgres (npm) and pgx (Go).

Usage: postgres_drivers.py SCYPERD
tools/install-packages puts them into ~/.cache/scyper/postgres-clients and Go's cache; what is not there is skipped by name. Each check
says what it found; the exit code counts the failures.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from postgres_servers import CHECKS, PATIENCE_S, Node, expect

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = pathlib.Path.home() / ".cache" / "scyper" / "postgres-clients"


def run(what, command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          env={**os.environ, **(environment or {})})
    print(done.stdout, end="", flush=True)
    expect(f"{what}'s script", done.returncode == 0, done.stderr[-1500:])


def build_pgx(folder):
    """The program; None: why not was said."""
    program = pathlib.Path(folder) / "pgx"
    if shutil.which("go") is None:
        print("skip  pgx: no go (tools/install-packages)", flush=True)
        return None
    offline = {**os.environ, "GOPROXY": "off", "GOFLAGS": "-mod=readonly"}
    missing = subprocess.run(["go", "mod", "download"], cwd=HERE / "pgx", env=offline, capture_output=True, text=True, check=False)
    if missing.returncode != 0:
        print(f"skip  pgx: {missing.stderr.strip()[-200:]} (tools/install-packages)", flush=True)
        return None
    built = subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "pgx", env=offline, capture_output=True, text=True, check=False)
    expect("pgx's program is built", built.returncode == 0, built.stderr[-1500:])
    return program if built.returncode == 0 else None


def main():
    with tempfile.TemporaryDirectory() as folder:
        return try_drivers(build_pgx(folder))


def try_drivers(pgx):
    python = CLIENTS / "bin" / "python"
    node_program = shutil.which("node") or shutil.which("nodejs")
    has_asyncpg = python.exists()
    has_node = node_program is not None and (CLIENTS / "node_modules" / "pg").exists()
    if not has_asyncpg:
        print(f"skip  asyncpg: no {python} (tools/install-packages)", flush=True)
    if not has_node:
        print("skip  node-postgres: no node, or no package pg (tools/install-packages)", flush=True)
    if not has_asyncpg and not has_node and pgx is None:
        return 0
    node = Node(sys.argv[1])
    if has_asyncpg:
        run("asyncpg", [python, HERE / "postgres_asyncpg.py", str(node.port)])
    if has_node:
        run("node-postgres", [node_program, HERE / "postgres_driver.cjs", str(node.port)], {"NODE_PATH": str(CLIENTS / "node_modules")})
    if pgx is not None:
        run("pgx", [pgx, f"postgres://postgres@127.0.0.1:{node.port}/scyper"])
    expect("the node stops", node.stop() == 0)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
