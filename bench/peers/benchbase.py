#!/usr/bin/python3
"""BenchBase's benchmarks on a node beside PostgreSQL 15 (fsync off), in turns.

Usage: benchbase.py SCYPERD FOLDER [--benchmarks tpcc,smallbank,...] [--terminals 1,4,16] [--seconds S]
                    [--isolation SERIALIZABLE|READ_COMMITTED|REPEATABLE_READ] [-o json]
FOLDER holds an unpacked BenchBase for PostgreSQL (benchbase.jar, config/postgres). Its sample configurations are used, but for address, user,
terminals, time, rate (unlimited) and isolation. Each benchmark is loaded once on either server. Needs java and tools/postgres-server.
Prints requests/s that went well (goodput), their ratio, and the geometric mean of the ratios. Answers are not compared.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from interactive import both_servers, geometric_mean

BENCHMARKS = "tpcc,smallbank,tatp,ycsb,voter,seats,auctionmark,epinions"
LOAD_SECONDS_MAX = 900


class Server:
    def __init__(self, name, url, user):
        self.name, self.url, self.user = name, url, user

    def configuration(self, sample, options, terminals):
        text = sample
        for tag, value in (("url", f"{self.url}?sslmode=disable&amp;reWriteBatchedInserts=true"), ("username", self.user), ("password", ""),
                           ("terminals", terminals), ("time", options.seconds), ("rate", "unlimited"),
                           ("isolation", f"TRANSACTION_{options.isolation}")):
            text = re.sub(rf"<{tag}>[^<]*</{tag}>", f"<{tag}>{value}</{tag}>", text)
        return text

    def run(self, benchmark, options, terminals, load=False):
        """Requests/s that went well; of a load 0. None: it failed."""
        sample = (options.folder / f"config/postgres/sample_{benchmark}_config.xml").read_text()
        with tempfile.TemporaryDirectory() as results:
            configuration = pathlib.Path(results) / "configuration.xml"
            configuration.write_text(self.configuration(sample, options, terminals))
            steps = ["--create=true", "--load=true", "--execute=false"] if load else ["--create=false", "--load=false", "--execute=true"]
            try:
                run = subprocess.run(["java", "-jar", "benchbase.jar", "-b", benchmark, "-c", configuration, "-d", results, *steps], cwd=options.folder,
                                     capture_output=True, text=True, errors="replace", timeout=LOAD_SECONDS_MAX if load else 60 + 3 * options.seconds)
            except subprocess.TimeoutExpired:
                return None
            if load:
                return 0 if run.returncode == 0 else None
            summaries = list(pathlib.Path(results).glob("*.summary.json"))
            return json.loads(summaries[0].read_text())["Goodput (requests/second)"] if summaries else None


def measure(servers, options):
    cells = []
    for benchmark in options.benchmarks.split(","):
        loaded = {server.name: server.run(benchmark, options, 2, load=True) is not None for server in servers}
        for terminals in map(int, options.terminals.split(",")):
            figures = {server.name: server.run(benchmark, options, terminals) for server in servers}
            ratio = figures["scyper"] / figures["postgres"] if figures["scyper"] is not None and figures["postgres"] else None
            cells.append({"benchmark": benchmark, "terminals": terminals, "loaded": loaded, **figures, "ratio": ratio})
    ratios = [cell["ratio"] for cell in cells if cell["ratio"]]
    return {"isolation": options.isolation, "cells": cells, "least": min(ratios, default=None),
            "geometric_mean": geometric_mean(ratios) if ratios else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scyperd")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--benchmarks", default=BENCHMARKS)
    parser.add_argument("--terminals", default="1,4,16")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--isolation", default="SERIALIZABLE")
    parser.add_argument("-o", "--output", choices=["json"], default="json")
    options = parser.parse_args()
    if shutil.which("java") is None:
        raise SystemExit("benchbase.py needs java (Debian: default-jre-headless)")
    with both_servers(options.scyperd, POSTGRES_LISTEN="1") as (_, port, _):
        servers = [Server("scyper", f"jdbc:postgresql://127.0.0.1:{port}/scyper", "scyper"),
                   Server("postgres", "jdbc:postgresql://127.0.0.1:5432/postgres", "postgres")]
        print(json.dumps(measure(servers, options), indent=2))


if __name__ == "__main__":
    main()
