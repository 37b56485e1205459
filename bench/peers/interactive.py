#!/usr/bin/python3
"""Programs as they are, on a node beside PostgreSQL 15 (fsync off): pgbench, short reads, blocks of BEGIN ... COMMIT.

Usage: interactive.py SCYPERD [--seconds S] [--rounds N] [--parts cells,latency,readers,blocks,functions] [--scale N] [-o json]
Needs python3-psycopg, pgbench and tools/postgres-server. Both are reached by Unix sockets, in turns. The node has no log, 4 partitions, 2 workers.
Parts:
  cells      pgbench unchanged (-i; tpcb-like and select-only; simple, extended, prepared; 1, 4, 16 clients): transactions/s of both, ratios,
             their geometric mean
  latency    one client, milliseconds: SELECT by key after UPDATE, and BEGIN; SELECT; UPDATE; COMMIT
  readers    8 clients that read by key beside 200 changes/s: reads/s of both
  blocks     procedures (CALL) of 8 clients with 100 open blocks, idle, each with a row of the same table changed, over the same without
  functions  SELECT f() over CALL of a procedure that does the same, 4 clients
Figures are medians of the rounds.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import psycopg

from postgres_protocol import PGBENCH

TREE = pathlib.Path(__file__).resolve().parents[2]
OPEN_BLOCKS = 100
ROUTINES = """
CREATE TABLE counters (id integer PRIMARY KEY, v bigint);
INSERT INTO counters SELECT g, 0 FROM generate_series(1, 10100) g;
CREATE PROCEDURE add_p(k integer) LANGUAGE plpgsql AS $$ BEGIN UPDATE counters SET v = v + 1 WHERE id = k; END $$;
CREATE FUNCTION add_f(k integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE counters SET v = v + 1 WHERE id = k; END $$
"""
KEY = "\\set k random(1, 10000)\n"
SCRIPTS = {
    "call": KEY + "CALL add_p(:k);\n",
    "function": KEY + "SELECT add_f(:k);\n",
    "read_after_update": KEY + "UPDATE counters SET v = v + 1 WHERE id = :k;\nSELECT v FROM counters WHERE id = :k;\n",
    "block": KEY + "BEGIN;\nSELECT v FROM counters WHERE id = :k;\nUPDATE counters SET v = v + 1 WHERE id = :k;\nCOMMIT;\n",
    "update": KEY + "UPDATE counters SET v = v + 1 WHERE id = :k;\n",
}


class Server:
    def __init__(self, name, folder, port, user, database):
        self.name, self.folder, self.port, self.user, self.database = name, folder, port, user, database

    def conninfo(self):
        return f"host={self.folder} port={self.port} user={self.user} dbname={self.database}"

    def pgbench_command(self, *arguments):
        return [PGBENCH, "-h", str(self.folder), "-p", str(self.port), "-U", self.user, *map(str, arguments), self.database]

    def pgbench(self, *arguments):
        run = subprocess.run(self.pgbench_command(*arguments), capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(f"pgbench on {self.name}: {run.stderr}")
        return run.stdout

    def rate(self, clients, seconds, *arguments):
        out = self.pgbench("-n", "-c", clients, "-j", min(clients, 2), "-T", seconds, *arguments)
        return float(re.search(r"tps = ([\d.]+)", out).group(1))

    def prepare(self, scale):
        self.pgbench("-q", "-i", "-s", scale)
        with psycopg.connect(self.conninfo(), autocommit=True) as db:
            for statement in re.split(r";\n", ROUTINES.strip()):
                db.execute(statement)


def in_turns(servers, rounds, measure):
    """Medians by server's name."""
    figures = {server.name: [] for server in servers}
    for _ in range(rounds):
        for server in servers:
            figures[server.name].append(measure(server))
    return {name: statistics.median(values) for name, values in figures.items()}


def with_ratio(figures):
    return {**figures, "ratio": figures["scyper"] / figures["postgres"]}


def geometric_mean(values):
    return math.exp(statistics.mean(math.log(value) for value in values))


def cells(servers, options, _):
    found = []
    for kind, flags in (("tpcb-like", []), ("select-only", ["-S"])):
        for mode in ("simple", "extended", "prepared"):
            for clients in (1, 4, 16):
                figures = in_turns(servers, options.rounds, lambda s: s.rate(clients, options.seconds, "-M", mode, *flags))
                found.append({"script": kind, "mode": mode, "clients": clients, **with_ratio(figures)})
    means = {kind: geometric_mean([cell["ratio"] for cell in found if cell["script"] == kind]) for kind in ("tpcb-like", "select-only")}
    return {"cells": found, "least": min(cell["ratio"] for cell in found), "geometric_means": means,
            "geometric_mean": geometric_mean([cell["ratio"] for cell in found])}


def latency(servers, options, scripts):
    def average_ms(server, script):
        out = server.pgbench("-n", "-c", 1, "-T", options.seconds, "-M", "prepared", "-r", "-f", scripts / script)
        by_statement = re.findall(r"^\s+([\d.]+)\s+\d*\s*([A-Z].*)$", out, re.MULTILINE)
        return sum(float(ms) for ms, text in by_statement if script == "block" or text.startswith("SELECT"))

    return {script: with_ratio(in_turns(servers, options.rounds, lambda s: average_ms(s, script))) for script in ("read_after_update", "block")}


def readers(servers, options, scripts):
    def beside_writes(server):
        writes = subprocess.Popen(server.pgbench_command("-n", "-c", 2, "-R", 200, "-T", options.seconds + 2, "-M", "prepared", "-f", scripts / "update"),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        rate = server.rate(8, options.seconds, "-S", "-M", "prepared")
        writes.wait()
        return rate

    return with_ratio(in_turns(servers, options.rounds, beside_writes))


def blocks(servers, options, scripts):
    server = servers[0]
    ratios = []
    for _ in range(options.rounds):
        before = server.rate(8, options.seconds, "-M", "prepared", "-f", scripts / "call")
        idle = []
        for i in range(OPEN_BLOCKS):
            idle.append(psycopg.connect(server.conninfo()))
            idle[-1].execute("UPDATE counters SET v = v + 1 WHERE id = %s", [10001 + i])
        beside = server.rate(8, options.seconds, "-M", "prepared", "-f", scripts / "call")
        for connection in idle:
            connection.rollback()
            connection.close()
        after = server.rate(8, options.seconds, "-M", "prepared", "-f", scripts / "call")
        ratios.append(2 * beside / (before + after))
    return {"open_blocks": OPEN_BLOCKS, "ratio": statistics.median(ratios)}


def functions(servers, options, scripts):
    server = servers[0]
    ratios = []
    for _ in range(options.rounds):
        call = server.rate(4, options.seconds, "-M", "prepared", "-f", scripts / "call")
        ratios.append(call / server.rate(4, options.seconds, "-M", "prepared", "-f", scripts / "function"))
    return {"time_over_call": statistics.median(ratios)}


PARTS = {"cells": cells, "latency": latency, "readers": readers, "blocks": blocks, "functions": functions}


def start_node(scyperd, folder, memory):
    node = subprocess.Popen([scyperd, "--memory", memory, "--partitions", "4", "--workers", "2", "--listen", "127.0.0.1:0", "--http-listen", "",
                             "--postgres-listen", "127.0.0.1:0", "--postgres-socket-directory", folder, "--postgres-connections-max", "200"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        sockets = list(pathlib.Path(folder).glob(".s.PGSQL.*"))
        if sockets:
            return node, int(sockets[0].name.rsplit(".", 1)[1])
        if node.poll() is not None:
            raise SystemExit("the node did not start")
        time.sleep(0.1)
    raise SystemExit("the node did not open its socket")


@contextlib.contextmanager
def both_servers(scyperd, memory="2GB", **environment):
    """A node and PostgreSQL, to the end of the `with`: their folders and the node's port. environment: of tools/postgres-server."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)
        postgres_folder = f"{folder}/postgres"
        node, port = start_node(scyperd, folder, memory)
        try:
            subprocess.run([TREE / "tools/postgres-server", "start", postgres_folder], check=True, stdout=subprocess.DEVNULL,
                           env=dict(os.environ, **environment))
            yield folder, port, postgres_folder
        finally:
            node.terminate()
            node.wait()
            subprocess.run([TREE / "tools/postgres-server", "stop", postgres_folder], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scyperd")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=int, default=4)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("-o", "--output", choices=["json"], default="json")
    options = parser.parse_args()
    with both_servers(options.scyperd) as (folder, port, postgres_folder):
        scripts = pathlib.Path(folder) / "scripts"
        scripts.mkdir()
        for name, text in SCRIPTS.items():
            (scripts / name).write_text(text)
        servers = [Server("scyper", folder, port, "scyper", "scyper"), Server("postgres", postgres_folder, 5432, "postgres", "postgres")]
        for server in servers:
            server.prepare(options.scale)
        print(json.dumps({part: PARTS[part](servers, options, scripts) for part in options.parts.split(",")}, indent=2))


if __name__ == "__main__":
    main()
