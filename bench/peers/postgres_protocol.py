#!/usr/bin/python3
"""PostgreSQL's protocol: a node beside PostgreSQL 15 (synchronous_commit off), the same clients, in turns.

Usage: postgres_protocol.py SCYPERD [--rounds N] [--rows N] [-o json]
Needs python3-psycopg, pgbench and tools/postgres-server. Figures: p50 of one client's prepared CALL that changes a row (psycopg), calls per
second of 8 clients (pgbench, prepared), rows per second of a SELECT of many rows (psql to /dev/null). PostgreSQL is reached by a unix
socket, the node by TCP.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import psycopg

TREE = pathlib.Path(__file__).resolve().parents[2]
PGBENCH = next(iter(sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pgbench"))), "pgbench")
KEYS = 10_000
SCHEMA = ["CREATE TABLE accounts (id integer PRIMARY KEY, balance bigint NOT NULL)",
          "CREATE TABLE many (id integer PRIMARY KEY, word text, price numeric(10,2), made timestamp)",
          """CREATE PROCEDURE add(p_id integer, p_amount integer, INOUT p_balance bigint) LANGUAGE plpgsql AS $$
          BEGIN UPDATE accounts SET balance = balance + p_amount WHERE id = p_id RETURNING balance INTO p_balance; END $$"""]


def prepare(conninfo, rows):
    with psycopg.connect(conninfo, autocommit=True) as db:
        for statement in SCHEMA:
            db.execute(statement)
        db.execute(f"INSERT INTO accounts SELECT g, 0 FROM generate_series(1, {KEYS}) g")
        for first in range(1, rows + 1, 100_000):  # a transaction has a limit of time
            last = min(first + 99_999, rows)
            db.execute(f"INSERT INTO many SELECT g, 'some words ' || g, g * 0.25, timestamp '2024-01-01 00:00:00' FROM generate_series({first}, {last}) g")


def latency_us(conninfo, calls):
    times = []
    with psycopg.connect(conninfo, autocommit=True) as db:
        for k in range(calls):
            start = time.perf_counter_ns()
            db.execute("CALL add(%s, %s, %s)", (k % KEYS + 1, 1, 0), prepare=True)
            times.append(time.perf_counter_ns() - start)
    return statistics.median(times[calls // 10:]) / 1000


def throughput(host, port, user, database, script, seconds):
    run = subprocess.run([PGBENCH, "-n", "-M", "prepared", "-c", "8", "-j", "2", "-T", str(seconds), "-f", script, "-h", host, "-p", port,
                          "-U", user, database], capture_output=True, text=True, check=True)
    return float(re.search(r"tps = ([\d.]+)", run.stdout).group(1))


def rows_per_second(host, port, user, database, rows):
    start = time.perf_counter()
    subprocess.run(["psql", "-X", "-At", "-o", "/dev/null", "-c", "SELECT * FROM many", "-h", host, "-p", port, "-U", user, database], check=True)
    return rows / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scyperd")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("-o", choices=["text", "json"], default="text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)  # PostgreSQL runs as a user of its own
        script = pathlib.Path(folder) / "call.sql"
        script.write_text(f"\\set id random(1, {KEYS})\nCALL add(:id, 1, 0);\n", encoding="utf-8")
        server = [str(TREE / "tools/postgres-server")]
        subprocess.run([*server, "start", folder + "/pg"], check=True, stdout=subprocess.DEVNULL)
        node = subprocess.Popen([options.scyperd, "--listen", "127.0.0.1:0", "--http-listen", "", "--postgres-listen", "127.0.0.1:0",
                                 "--workers", "1", "--partitions", "1"], stdout=subprocess.PIPE, text=True)
        try:
            port = re.search(r"PostgreSQL clients on port (\d+)", node.stdout.readline()).group(1)
            places = {"scyper": ("127.0.0.1", port, "bench", "scyper"), "postgres": (folder + "/pg", "5432", "postgres", "postgres")}
            infos = {name: f"host={h} port={p} user={u} dbname={d}" for name, (h, p, u, d) in places.items()}
            with psycopg.connect(infos["postgres"], autocommit=True) as db:
                db.execute("ALTER SYSTEM SET synchronous_commit = off")
                db.execute("SELECT pg_reload_conf()")
            for info in infos.values():
                prepare(info, options.rows)
            found = {name: {"call_p50_us": [], "calls_per_second_8_clients": [], "rows_per_second": []} for name in places}
            for _ in range(options.rounds):
                for name, place in places.items():
                    found[name]["call_p50_us"].append(latency_us(infos[name], 5000))
                    found[name]["calls_per_second_8_clients"].append(throughput(*place, str(script), options.seconds))
                    found[name]["rows_per_second"].append(rows_per_second(*place, options.rows))
        finally:
            node.terminate()
            node.wait(timeout=60)
            subprocess.run([*server, "stop", folder + "/pg"], check=False, stdout=subprocess.DEVNULL)
    medians = {name: {figure: round(statistics.median(values), 1) for figure, values in figures.items()} for name, figures in found.items()}
    if options.o == "json":
        print(json.dumps({"medians": medians, "all": found}))
        return
    for figure in medians["scyper"]:
        ours, theirs = medians["scyper"][figure], medians["postgres"][figure]
        print(f"{figure:30} ScyPer {ours:>12} PostgreSQL {theirs:>12} ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
