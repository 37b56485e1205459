#!/usr/bin/python3
"""Statements about many rows beside transactions of others, on a node beside PostgreSQL 15 (fsync off).

Usage: large_statements.py SCYPERD [--rows N] [--only NAME,...] [-o json]
Needs python3-psycopg and tools/postgres-server. Another process changes rows of a small table one by one while the statement runs.
Prints for each statement and server: its seconds, the longest time that one of these changes took (stop_ms), and the longest one
in as much time without the statement (idle_ms), which is what the machine does by itself.
"""
import argparse
import io
import json
import multiprocessing
import statistics
import time

import psycopg

from interactive import Server, both_servers

STATEMENTS = {
    "insert_select": "INSERT INTO target SELECT id, a, b, c FROM big",
    "update": "UPDATE target SET a = a + 1",
    "delete": "DELETE FROM target",
    "copy": None,
    "add_column": "ALTER TABLE big ADD COLUMN d integer",
    "add_column_constant": "ALTER TABLE big ADD COLUMN e integer NOT NULL DEFAULT 7",
    "add_column_text": "ALTER TABLE big ADD COLUMN f text DEFAULT 'some text'",
    "add_column_now": "ALTER TABLE big ADD COLUMN g timestamptz DEFAULT now()",
    "add_column_uuid": "ALTER TABLE big ADD COLUMN h uuid DEFAULT gen_random_uuid()",
    "drop_column": "ALTER TABLE big DROP COLUMN d",
    "widen_type": "ALTER TABLE big ALTER COLUMN a TYPE bigint",
    "rename": "ALTER TABLE big RENAME COLUMN a TO aa",
    "create_index": "CREATE INDEX big_c ON big (c)",
    "add_constraint": "ALTER TABLE big ADD CONSTRAINT positive CHECK (c >= 0)",
}
POINTS = 10_000


def change_points(conninfo, stop, is_ready, longest):
    with psycopg.connect(conninfo, autocommit=True) as db:
        for key in range(200):
            db.execute("UPDATE points SET v = v + 1 WHERE id = %s", [key % POINTS], prepare=True)
        is_ready.set()
        key = 0
        while not stop.is_set():
            begin = time.monotonic()
            db.execute("UPDATE points SET v = v + 1 WHERE id = %s", [key % POINTS], prepare=True)
            longest.value = max(longest.value, time.monotonic() - begin)
            key += 1


def beside_changes(conninfo, run):
    """What `run` took and the longest change meanwhile, in seconds."""
    stop, is_ready, longest = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Value("d", 0.0)
    process = multiprocessing.Process(target=change_points, args=(conninfo, stop, is_ready, longest))
    process.start()
    is_ready.wait()
    begin = time.monotonic()
    run()
    seconds = time.monotonic() - begin
    stop.set()
    process.join()
    return seconds, longest.value


def prepare(server, rows):
    with psycopg.connect(server.conninfo(), autocommit=True) as db:
        columns = "(id integer PRIMARY KEY, a integer NOT NULL, b text, c numeric(12,2))"
        db.execute("CREATE TABLE points (id integer PRIMARY KEY, v bigint)")
        db.execute(f"INSERT INTO points SELECT g, 0 FROM generate_series(0, {POINTS - 1}) g")
        db.execute(f"CREATE TABLE big {columns}")
        db.execute(f"CREATE TABLE target {columns}")
        db.execute(f"INSERT INTO big SELECT g, g % 1000, 'text ' || g, g * 0.01 FROM generate_series(1, {rows}) g")


def copy_rows(db, rows):
    with db.cursor().copy("COPY target FROM STDIN") as copy:
        for first in range(1, rows + 1, 10_000):
            lines = io.StringIO()
            for key in range(first, min(first + 10_000, rows + 1)):
                lines.write(f"{key}\t{key % 1000}\ttext {key}\t{key / 100:.2f}\n")
            copy.write(lines.getvalue())


def measure(server, name, rows):
    with psycopg.connect(server.conninfo(), autocommit=True) as db:
        run = (lambda: copy_rows(db, rows)) if name == "copy" else (lambda: db.execute(STATEMENTS[name]))
        seconds, stop = beside_changes(server.conninfo(), run)
    _, idle = beside_changes(server.conninfo(), lambda: time.sleep(min(max(seconds, 0.5), 10)))
    return {"seconds": seconds, "stop_ms": 1000 * stop, "idle_ms": 1000 * idle}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scyperd")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--only", default=",".join(STATEMENTS))
    parser.add_argument("-o", "--output", choices=["json"], default="json")
    options = parser.parse_args()
    with both_servers(options.scyperd, memory="10GB") as (folder, port, postgres_folder):
        servers = [Server("scyper", folder, port, "scyper", "scyper"), Server("postgres", postgres_folder, 5432, "postgres", "postgres")]
        for server in servers:
            prepare(server, options.rows)
        figures = {name: {server.name: measure(server, name, options.rows) for server in servers} for name in options.only.split(",")}
    stops = [figure["scyper"]["stop_ms"] for figure in figures.values()]
    print(json.dumps({"rows": options.rows, "statements": figures, "longest_stop_ms": max(stops), "median_stop_ms": statistics.median(stops)}, indent=2))


if __name__ == "__main__":
    main()
