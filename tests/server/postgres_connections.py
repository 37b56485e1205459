#!/usr/bin/env python3
"""A thousand connections of PostgreSQL's protocol at once, half of them cut in mid-message, several times: no session, descriptor or
memory may be left.

Usage: postgres_connections.py SCYPERD [CONNECTIONS [ROUNDS]]
Nothing is timed: what the node still has to notice is waited for. The exit code counts the failures.
"""
import math
import os
import random
import re
import resource
import socket
import struct
import sys
import time
import urllib.request

from postgres_servers import CHECKS, PATIENCE_S, Node, expect

STARTUP = struct.pack("!i", 196608) + b"user\0alice\0database\0scyper\0\0"
MEMORY_BYTES = 32 << 20  # that later rounds may add to what the first one took


def with_length(body):
    return struct.pack("!i", len(body) + 4) + body


def message(kind, body):
    return kind + with_length(body)


QUERY = message(b"Q", b"SELECT count(*), sum(n) FROM things WHERE n > 10\0")
PARSE = message(b"P", b"\0SELECT n FROM things WHERE n = $1\0" + struct.pack("!h", 0))


def read_until_ready(connection):
    """The types of the messages up to ReadyForQuery."""
    kinds = b""
    while True:
        head = connection.recv(5, socket.MSG_WAITALL)
        if len(head) < 5:
            raise ConnectionError(f"the node has closed the connection after {kinds}")
        kinds += head[:1]
        length = struct.unpack("!i", head[1:])[0] - 4
        if length > 0:
            connection.recv(length, socket.MSG_WAITALL)
        if head[:1] == b"Z":
            return kinds


def cut(connection):
    """As a client that is killed by its machine: a reset, not an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def read_metrics(node):
    text = urllib.request.urlopen(node.metrics, timeout=PATIENCE_S).read().decode()
    return {name: float(re.search(rf"(?m)^{name} (\S+)$", text).group(1))
            for name in ("scyper_postgres_sessions", "process_open_fds", "process_resident_memory_bytes")}


def run_round(node, count, draw):
    connections = []
    for _ in range(count):
        connection = node.connect()
        connection.sendall(with_length(STARTUP))
        connections.append(connection)
    for connection in connections:
        read_until_ready(connection)
    open_sessions = read_metrics(node)["scyper_postgres_sessions"]
    expect(f"{count} sessions at once", open_sessions == count, open_sessions)
    draw.shuffle(connections)
    for connection in connections[: count // 2]:  # in mid-message, or with an answer that nobody reads
        text = draw.choice((QUERY, PARSE, PARSE + QUERY, QUERY + QUERY))
        connection.sendall(text[: draw.randrange(1, len(text) + 1)])
        cut(connection)
    rest = connections[count // 2:]
    for connection in rest:
        connection.sendall(QUERY)
    answers = {read_until_ready(connection) for connection in rest}
    expect("the others are answered", answers == {b"TDCZ"}, answers)
    for connection in rest:
        connection.sendall(message(b"X", b""))
        connection.close()


def wait_for_none(node, files):
    """Until no session is open, and no more descriptors than `files`; what then still is, is told."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = read_metrics(node)
        is_over = found["scyper_postgres_sessions"] == 0 and found["process_open_fds"] <= files
        if is_over or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def main(program, count=1000, rounds=3):
    count, rounds = int(count), int(rounds)
    seed = int(os.environ.get("SCYPER_TEST_SEED", 20111))
    print(f"seed {seed}", flush=True)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * count + 1000  # the node inherits it
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(files[0], wanted), files[1]), files[1]))
    node = Node(program, "--postgres-connections-max", str(count), "--pages", "small", has_http=True)
    with node.connect() as connection:
        connection.sendall(with_length(STARTUP))
        read_until_ready(connection)
        connection.sendall(message(b"Q", b"CREATE TABLE things (n integer PRIMARY KEY); INSERT INTO things SELECT generate_series(1, 1000)\0"))
        read_until_ready(connection)
    before = wait_for_none(node, math.inf)
    files = before["process_open_fds"] + 16  # snapshots and their pipes may live or not
    after = []
    draw = random.Random(seed)
    for _ in range(rounds):
        run_round(node, count, draw)
        after.append(wait_for_none(node, files))
    expect("no session is left", after[-1]["scyper_postgres_sessions"] == 0, after[-1])
    expect("no descriptor is left", after[-1]["process_open_fds"] <= files, (before, after))
    grown = after[-1]["process_resident_memory_bytes"] - after[0]["process_resident_memory_bytes"]
    expect("no memory is left", grown < MEMORY_BYTES, f"{grown} bytes in {rounds - 1} rounds")
    expect("the node stops", node.stop() == 0)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
