#!/usr/bin/python3
"""Calls and rows on a node beside PostgreSQL 15 (synchronous_commit off), the same clients, in turns.

Usage: postgres_protocol.py SCYPERD [--rounds N] [--rows N] [--calls-only] [-o json]
Needs python3-psycopg, pgbench, tools/postgres-server, and bench_point_call beside SCYPERD. Figures, PostgreSQL's protocol on both: p50 of
one client's prepared CALL that changes a row (psycopg), calls per second of 8 clients (pgbench, prepared), rows per second of a SELECT of
many rows (psql to /dev/null). The same CALL by programs in C++ (bench_point_call), p50 of one client and calls per second of 8: libpq on
both, and the node by gRPC as the client library calls and by unary RPCs, against PostgreSQL by libpq. PostgreSQL and gRPC are reached by
unix sockets, the node by TCP where it says so and where it speaks PostgreSQL's protocol.
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
POINT_PEER = "PostgreSQL"
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


# name: flags of bench_point_call; PostgreSQL's are POINT_PEER
def point_ways(folder, grpc_port, postgres_port):
    socket = ["--grpc", f"unix:{folder}/node.sock"]
    return {"libpq": ["--postgres", f"host=127.0.0.1 port={postgres_port} user=bench dbname=scyper"],
            "gRPC": socket, "gRPC, TCP": ["--grpc", f"127.0.0.1:{grpc_port}"], "gRPC, unary RPCs": [*socket, "--unary"],
            POINT_PEER: ["--postgres", f"host={folder}/pg user=postgres dbname=postgres"]}


def point_call(program, way, clients, seconds):
    run = subprocess.run([program, *way, "--clients", str(clients), "--seconds", str(seconds), "--keys", str(KEYS), "-o", "json"],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


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
    parser.add_argument("--calls-only", action="store_true", help="the figures of bench_point_call alone")
    parser.add_argument("-o", choices=["text", "json"], default="text")
    options = parser.parse_args()
    program = pathlib.Path(options.scyperd).with_name("bench_point_call")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)  # PostgreSQL runs as a user of its own
        script = pathlib.Path(folder) / "call.sql"
        script.write_text(f"\\set id random(1, {KEYS})\nCALL add(:id, 1, 0);\n", encoding="utf-8")
        server = [str(TREE / "tools/postgres-server")]
        subprocess.run([*server, "start", folder + "/pg"], check=True, stdout=subprocess.DEVNULL)
        node = subprocess.Popen([options.scyperd, "--listen", "127.0.0.1:0", "--unix-socket", folder + "/node.sock", "--http-listen", "", "--postgres-listen", "127.0.0.1:0",
                                 "--workers", "1", "--partitions", "1"], stdout=subprocess.PIPE, text=True)
        try:
            grpc_port, port = re.search(r"gRPC on port (\d+).*PostgreSQL clients on port (\d+)", node.stdout.readline()).groups()
            places = {"scyper": ("127.0.0.1", port, "bench", "scyper"), "postgres": (folder + "/pg", "5432", "postgres", "postgres")}
            infos = {name: f"host={h} port={p} user={u} dbname={d}" for name, (h, p, u, d) in places.items()}
            with psycopg.connect(infos["postgres"], autocommit=True) as db:
                db.execute("ALTER SYSTEM SET synchronous_commit = off")
                db.execute("SELECT pg_reload_conf()")
            for info in infos.values():
                prepare(info, 1 if options.calls_only else options.rows)
            found = {name: {"call_p50_us": [], "calls_per_second_8_clients": [], "rows_per_second": []} for name in places}
            ways = point_ways(folder, grpc_port, port)
            points = {name: {"p50_us": [], "calls_per_second_8_clients": []} for name in ways}
            for _ in range(options.rounds):
                for name, way in ways.items():
                    points[name]["p50_us"].append(point_call(program, way, 1, options.seconds)["p50_us"])
                    points[name]["calls_per_second_8_clients"].append(point_call(program, way, 8, options.seconds)["calls_per_second"])
                for name, place in ({} if options.calls_only else places).items():
                    found[name]["call_p50_us"].append(latency_us(infos[name], 5000))
                    found[name]["calls_per_second_8_clients"].append(throughput(*place, str(script), options.seconds))
                    found[name]["rows_per_second"].append(rows_per_second(*place, options.rows))
        finally:
            node.terminate()
            node.wait(timeout=60)
            subprocess.run([*server, "stop", folder + "/pg"], check=False, stdout=subprocess.DEVNULL)
    report(found, points, options)


def medians_of(found):
    return {name: {figure: round(statistics.median(values), 1) for figure, values in figures.items() if values}
            for name, figures in found.items()}


def report(found, points, options):
    medians, calls = medians_of(found), medians_of(points)
    if options.o == "json":
        print(json.dumps({"medians": medians, "all": found, "call_medians": calls, "all_calls": points}))
        return
    for figure in medians["scyper"]:
        ours, theirs = medians["scyper"][figure], medians["postgres"][figure]
        print(f"{figure:30} ScyPer {ours:>12} PostgreSQL {theirs:>12} ratio {ours / theirs:.2f}")
    for figure, theirs in calls[POINT_PEER].items():
        for name, figures in calls.items():
            print(f"{figure:30} {name:18} {figures[figure]:>12} ratio {figures[figure] / theirs:.2f}")


if __name__ == "__main__":
    main()
