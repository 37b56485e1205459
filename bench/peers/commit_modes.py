#!/usr/bin/env python3
"""commit_modes.py --build DIR --directory DIR [--rounds N] [--seconds S] [--only throughput|latency|archives|postgres]

What durability costs: TPC-C over gRPC in the commit modes local and async, PostgreSQL 15 with synchronous_commit = on and
off, all in turns, on one disk (--directory). Throughput with many calls under way, latency of a commit with one. "archives":
transactions in process without archives and with one being written all the time. Prints a line of JSON per run, then the
medians of the rounds."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "..", "..", "tools")


def run(*command, **more):
    made = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if made.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {made.stderr or made.stdout}")
    return made.stdout


def node_flags(options):
    flags = ["--pages", options.pages]
    if options.memory:
        flags += ["--memory", options.memory]
    return flags


def scyper(options, *more):
    data = os.path.join(options.directory, "scyper")
    shutil.rmtree(data, ignore_errors=True)
    out = run(os.path.join(options.build, "bin", "scyper"), "bench", "oltp", "--warehouses", options.warehouses, "--workers", 1,
              "--seconds", options.seconds, "--data-directory", data, "-o", "json", *node_flags(options), *more)
    shutil.rmtree(data, ignore_errors=True)
    made = json.loads(out)
    return {"tps": made["tps"], "p50_us": made["p50_us"], "p99_us": made["p99_us"]}


def postgres(options, durable, pipeline):
    place = os.path.join(options.directory, "postgres")
    environment = dict(os.environ, POSTGRES_DURABLE="1" if durable else "")
    run(os.path.join(TOOLS, "postgres-server"), "start", place, env=environment)
    try:
        out = run(os.path.join(options.build, "bin", "bench_tpcc_postgres"), "--warehouses", options.warehouses,
                  "--seconds", options.seconds, "--pipeline", pipeline, "-o", "json", "--connect",
                  f"host={place} user=postgres dbname=postgres")
    finally:
        run(os.path.join(TOOLS, "postgres-server"), "stop", place)
    made = json.loads(out)
    return {"tps": made["tps"], "p50_us": made["p50_us"], "p99_us": made["p99_us"]}


def cases(options):
    made = []
    if options.only in (None, "throughput"):
        for mode in ("local", "async"):
            made.append((f"scyper {mode}, 64 batches of 64 under way",
                         lambda mode=mode: scyper(options, "--grpc", "--commit-mode", mode, "--outstanding", 64)))
    if options.only in (None, "latency"):
        for mode in ("local", "async"):
            made.append((f"scyper {mode}, one call under way",
                         lambda mode=mode: scyper(options, "--grpc", "--commit-mode", mode, "--unary")))
    if options.only in (None, "postgres"):
        made.append(("postgres synchronous_commit = on, one call under way", lambda: postgres(options, True, 1)))
        made.append(("postgres synchronous_commit = on, 64 in a pipeline", lambda: postgres(options, True, 64)))
    if options.only in (None, "archives"):
        for name, after in (("without archives", "0"), ("with archives all the time", "1MB")):
            made.append((f"scyper in process, {name}", lambda after=after: scyper(
                options, "--in-process", "--redo", "physical", "--commit-mode", "async", "--archive-after", after,
                "--archive-rate", options.archive_rate)))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--directory", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--warehouses", type=int, default=2)
    parser.add_argument("--archive-rate", default="50MB")
    parser.add_argument("--pages", choices=["huge", "reserved", "small"], default="huge",
                        help="reserved: needs vm.nr_hugepages for --memory and copies")
    parser.add_argument("--memory", help="of the node")
    parser.add_argument("--only", choices=["throughput", "latency", "archives", "postgres"])
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    os.chmod(options.directory, 0o755)
    results = {}
    for _ in range(options.rounds):
        for name, measure in cases(options):
            result = measure()
            print(json.dumps({"run": name, **result}), flush=True)
            results.setdefault(name, []).append(result)
    for name, of in results.items():
        print(json.dumps({"median of": len(of), "run": name,
                          **{key: round(statistics.median(one[key] for one in of)) for key in of[0]}}))


if __name__ == "__main__":
    main()
