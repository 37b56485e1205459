#!/usr/bin/env python3
"""tier_seeding.py --build DIR --directory DIR [--warehouses N] [--rounds N] [--kept BYTES]

How a node with a tier begins with another node's archive (docs/tiering.md, Seeding): with the files of that node's tier,
and, in turns, with the rows alone. A primary on loopback freezes CH-benCHmark's data, leaves BYTES of it in
memory and writes an archive; secondaries join it one after the other. Prints a line of JSON per join, then the medians: seconds
until it serves, its processor time until then and until it has nothing to freeze and to evict any more, and what it holds in
memory when it serves."""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import time

LOOK_S = 0.02
QUIET_S = 3.0  # some windows, in which it computes no more than
IDLE_S = 0.15
WAIT_S_MAX = 600
READY = "gRPC on port"


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Node:
    """A scyperd of the bench; ends with it."""

    def __init__(self, options, name, *flags):
        self.scyper = os.path.join(options.build, "bin", "scyper")
        self.port = free_port()
        self.log = os.path.join(options.directory, f"{name}.log")
        self.data = os.path.join(options.directory, name)
        self.tier = os.path.join(options.directory, f"{name}_tier")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.join(options.build, "bin", "scyperd"), "--listen", f"127.0.0.1:{self.port}", "--http-listen", "",
                 "--node-name", name, "--memory", options.memory, "--data-directory", self.data, "--compaction", "forced",
                 "--compaction-window", "500ms", "--tier-directory", self.tier, "--archive-rate", "0", *flags],
                stdout=log, stderr=log)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        for place in (self.data, self.tier):
            shutil.rmtree(place, ignore_errors=True)

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def call(self, *arguments):
        made = subprocess.run([self.scyper, *arguments, "--target", f"127.0.0.1:{self.port}"], capture_output=True, text=True,
                              check=False)
        if made.returncode != 0:
            raise SystemExit(made.stdout + made.stderr)

    def said(self, pattern):
        with open(self.log, encoding="utf-8") as log:
            return re.search(pattern, log.read())

    def wait_for(self, pattern):
        until = time.monotonic() + WAIT_S_MAX
        while not self.said(pattern):
            if time.monotonic() > until or self.process.poll() is not None:
                raise SystemExit(f"{self.log}: no {pattern}")
            time.sleep(LOOK_S)

    def wait_until_quiet(self):
        """Returns its processor time until it had nothing to do any more."""
        until = time.monotonic() + WAIT_S_MAX
        before, since = self.cpu_s(), time.monotonic()
        while time.monotonic() - since < QUIET_S:
            time.sleep(0.1)
            now = self.cpu_s()
            if now - before > IDLE_S:
                before, since = now, time.monotonic()
            if since > until:
                raise SystemExit(f"{self.log}: always busy")
        return before


def memory_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as rollup:
        return sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1000


def join(options, primary, name):
    begin = time.monotonic()
    node = Node(options, name, "--role", "secondary", "--primary", f"127.0.0.1:{primary.port}", "--tier-memory", options.kept)
    try:
        node.wait_for(READY)
        out = {"serves_s": time.monotonic() - begin, "cpu_s": node.cpu_s(), "memory_mb": memory_mb(node.process.pid)}
        out["cpu_s_until_quiet"] = node.wait_until_quiet()
        stay = node.said(r"recovery: (\d+) of these rows stay in the tier")
        out["rows_in_place"] = int(stay.group(1)) if stay else 0
        return {key: round(value, 3) for key, value in out.items()}
    finally:
        node.end()


def measure(options, primary):
    places = glob.glob(os.path.join(primary.data, "archives", "*", "*.places"))
    results = {}
    for number in range(options.rounds):
        for name in ("files", "rows"):
            for place in places:  # without them nothing says where frozen chunks lie
                aside = os.path.join(options.directory, os.path.basename(place))
                there, to = (aside, place) if name == "files" else (place, aside)
                if os.path.exists(there):
                    os.rename(there, to)
            result = join(options, primary, f"s{number}{name}")
            print(json.dumps({"seeded by": name, **result}), flush=True)
            results.setdefault(name, []).append(result)
    for name, of in results.items():
        medians = {key: statistics.median(one[key] for one in of) for key in of[0]}
        print(json.dumps({"median of": len(of), "seeded by": name, **medians}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--directory", required=True)
    parser.add_argument("--warehouses", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kept", default="20MB", help="tier_memory of all nodes")
    parser.add_argument("--memory", default="4GB", help="of each node")
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    primary = Node(options, "p", "--replication", "--tier-memory", options.kept)
    try:
        primary.wait_for(READY)
        primary.call("load", "ch", "--warehouses", str(options.warehouses))
        primary.wait_until_quiet()
        primary.call("backup")
        measure(options, primary)
    finally:
        primary.end()


if __name__ == "__main__":
    main()
