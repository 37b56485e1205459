#!/usr/bin/env python3
"""Kits of stored procedures by psql: a node and PostgreSQL 15 get the same files (tests/data/kits) and must answer the same.

Usage: postgres_kits.py SCYPERD [KIT ...]
Each kit runs in a database or node of its own; output and errors are compared, those without CONTEXT. Then what PostgreSQL is no
oracle of: open transactions that are ended, lost connections, temporary tables of two sessions. Debian: postgresql-15,
postgresql-client-15, python3-psycopg.
"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from postgres_servers import CHECKS, PATIENCE_S, Node, Postgres, expect, optional

KITS = pathlib.Path(__file__).resolve().parents[1] / "data" / "kits"


def psql(server, *arguments):
    """Output and errors of one psql, line by line as they come."""
    run = subprocess.run(["psql", "-X", "-v", "VERBOSITY=verbose", *arguments, server.conninfo], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=PATIENCE_S, env={**os.environ, "LC_ALL": "C"}, check=False)
    # CONTEXT is not made here, and errors name no objects
    out = re.sub(r"(?m)^psql:[^:]*:", "line ", run.stdout)
    out = re.sub(r"(?m)^CONTEXT:  (?:.*\n)*?(?=LOCATION:)", "", out)
    out = re.sub(r"(?m)^(LOCATION|SCHEMA NAME|TABLE NAME|COLUMN NAME|CONSTRAINT NAME|DATATYPE NAME):.*\n", "", out)
    return out


def check_kit(program, postgres, kit):
    node = Node(program)
    database = kit.stem
    subprocess.run(["createdb", "-h", postgres.directory, "-U", "postgres", database], check=True)
    theirs = Postgres.__new__(Postgres)
    theirs.conninfo = f"host={postgres.directory} user=postgres dbname={database}"
    wanted, found = psql(theirs, "-f", str(kit)), psql(node, "-f", str(kit))
    lines = list(difflib.unified_diff(wanted.splitlines(), found.splitlines(), "PostgreSQL", "node", lineterm="", n=1))
    expect(f"kit {kit.stem}, {len(wanted.splitlines())} lines", not lines, "\n" + "\n".join(lines))
    expect(f"the node of {kit.stem} stops", node.stop() == 0)


def check_transactions(program):
    psycopg = optional("psycopg")
    if psycopg is None:
        return
    node = Node(program, "--transaction-time-max", "2s")
    with psycopg.connect(node.conninfo, autocommit=True) as db:
        db.execute("CREATE TABLE t (a integer PRIMARY KEY)")
        with psycopg.connect(node.conninfo) as block:  # BEGIN before the first statement, parameters by the extended protocol
            block.execute("INSERT INTO t VALUES (%s)", [1])
            block.execute("CREATE TABLE u (b text)")
            block.execute("INSERT INTO u VALUES (%s)", ["x"])
            rows = block.execute("SELECT a, b FROM t, u WHERE a = %s", [1]).fetchall()
            expect("a block sees what it has done", rows == [(1, "x")], rows)
        expect("and commits it", db.execute("SELECT count(*) FROM u").fetchone() == (1,))
        block = psycopg.connect(node.conninfo)
        block.execute("INSERT INTO t VALUES (2)")
        block.close()
        expect("a connection that ends takes it back", db.execute("SELECT count(*) FROM t").fetchone() == (1,))
        with psycopg.connect(node.conninfo) as block:
            block.execute("INSERT INTO t VALUES (3)")
            block.execute("LOCK TABLE t")  # from here on it runs alone
            started = time.monotonic()
            db.execute("INSERT INTO t VALUES (4)")  # waits until the block has been open for too long
            try:
                block.execute("SELECT 1")
                expect("a block that runs alone for too long is ended", False)
            except psycopg.Error as error:
                expect("a block that runs alone for too long is ended", error.sqlstate == "25P03", (error.sqlstate, time.monotonic() - started))
            block.rollback()
        expect("and taken back", [a for a, in db.execute("SELECT a FROM t ORDER BY a")] == [1, 4])
        with psycopg.connect(node.conninfo) as block:
            block.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            block.execute("SELECT count(*) FROM t").fetchone()
            db.execute("INSERT INTO t VALUES (5)")
            try:
                block.execute("INSERT INTO t VALUES (6)")
                expect("what a block has read is still so when it writes", False)
            except psycopg.errors.SerializationFailure:
                expect("what a block has read is still so when it writes", True)
            block.rollback()
            block.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            block.execute("SELECT count(*) FROM t").fetchone()
            db.execute("INSERT INTO t VALUES (7)")
            block.execute("INSERT INTO t VALUES (8)")
        expect("but for READ COMMITTED", db.execute("SELECT count(*) FROM t WHERE a > 6").fetchone() == (2,))
        with psycopg.connect(node.conninfo, autocommit=True) as other:
            db.execute("CREATE TEMP TABLE mine (a integer)")
            other.execute("CREATE TEMP TABLE mine (b text)")
            db.execute("INSERT INTO mine VALUES (1)")
            other.execute("INSERT INTO mine VALUES ('x')")
            expect("each session has its temporary tables", db.execute("SELECT a FROM mine").fetchall() == [(1,)] and
                   other.execute("SELECT b FROM mine").fetchall() == [("x",)])
        for _ in range(200):  # the session ends behind its connection
            left = db.execute("SELECT count(*) FROM pg_class WHERE relname = 'mine'").fetchone()[0]
            if left == 1:
                break
            time.sleep(0.05)
        expect("and leaves none", left == 1, left)
        db.execute("DISCARD TEMP")
        expect("DISCARD TEMP drops them", db.execute("SELECT count(*) FROM pg_class WHERE relname = 'mine'").fetchone() == (0,))
    block = psycopg.connect(node.conninfo)
    block.execute("INSERT INTO t VALUES (9)")
    expect("the node stops beside an open transaction", node.stop() == 0)
    block.close()


def main():
    if shutil.which("psql") is None:
        print("skip  no psql")
        return 0
    program, names = sys.argv[1], sys.argv[2:]
    postgres = Postgres(tempfile.mkdtemp(prefix="scyper-postgres-"))
    try:
        for kit in sorted(KITS.glob("*.sql")):
            if not names or kit.stem in names:
                check_kit(program, postgres, kit)
    finally:
        postgres.stop()
    if not names:
        check_transactions(program)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
