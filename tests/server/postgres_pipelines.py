#!/usr/bin/env python3
"""Several Executes before one Sync are one transaction: a node beside PostgreSQL 15.

Usage: postgres_pipelines.py SCYPERD
psycopg 3's pipeline mode and pgbench's \\startpipeline, where they are installed, and the messages themselves. Each check
says what it found; the exit code counts the failures.
"""
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from postgres_servers import CHECKS, PATIENCE_S, Node, Postgres, expect, optional

PGBENCH = shutil.which("pgbench") or "/usr/lib/postgresql/15/bin/pgbench"
SCHEMA = "DROP TABLE IF EXISTS piped; CREATE TABLE piped (id integer PRIMARY KEY, note text)"

# Statements before one Sync, and the outcome of each on both servers: a command tag, or an SQLSTATE that ends the pipeline.
PIPELINES = [
    ["INSERT INTO piped VALUES (1, 'a')", "INSERT INTO piped VALUES (2, 'b')"],
    ["INSERT INTO piped VALUES (3, 'c')", "INSERT INTO piped VALUES (1, 'again')", "INSERT INTO piped VALUES (4, 'd')"],
    ["UPDATE piped SET note = 'x'", "SELECT count(*) FROM piped WHERE note = 'x'", "SELECT 1/0"],
    ["SELECT count(*) FROM piped", "INSERT INTO piped VALUES (5, 'e')", "SELECT count(*) FROM piped"],
    ["INSERT INTO piped VALUES (6, 'f')", "COMMIT", "INSERT INTO piped VALUES (7, 'g')", "SELECT 1/0"],
    ["INSERT INTO piped VALUES (8, 'h')", "ROLLBACK", "INSERT INTO piped VALUES (9, 'i')"],
    ["CREATE TABLE piped_new (a integer)", "INSERT INTO piped_new VALUES (1)", "DROP TABLE piped_new", "INSERT INTO piped VALUES (1, 'again')"],
    ["INSERT INTO piped VALUES (10, 'j')", "BEGIN", "INSERT INTO piped VALUES (11, 'k')"],
    ["INSERT INTO piped VALUES (12, 'l')", "ROLLBACK"],
    ["INSERT INTO piped VALUES (13, 'm')"],
    ["INSERT INTO piped VALUES (14, 'n')", "SAVEPOINT s"],
    ["LOCK TABLE piped"],
    ["INSERT INTO piped VALUES (15, 'o')", "VACUUM piped"],
]


def message(kind, payload=b""):
    return kind + struct.pack("!i", len(payload) + 4) + payload


class Client:
    """One connection that speaks the protocol itself."""

    def __init__(self, server, user, database):
        self.socket = server.connect()
        parameters = b"".join(text.encode() + b"\0" for text in ("user", user, "database", database)) + b"\0"
        self.socket.sendall(struct.pack("!ii", len(parameters) + 8, 196608) + parameters)
        self.buffer = b""
        self.until_ready()

    def read(self):
        while len(self.buffer) < 5 or len(self.buffer) < 1 + struct.unpack("!i", self.buffer[1:5])[0]:
            got = self.socket.recv(65536)
            if not got:
                raise RuntimeError("the connection has ended")
            self.buffer += got
        size = 1 + struct.unpack("!i", self.buffer[1:5])[0]
        kind, payload, self.buffer = self.buffer[:1], self.buffer[5:size], self.buffer[size:]
        return kind, payload

    def until_ready(self):
        """Command tags, rows and SQLSTATEs up to ReadyForQuery, whose state comes last."""
        found = []
        while True:
            kind, payload = self.read()
            if kind == b"C":
                found.append(payload[:-1].decode())
            elif kind == b"D":
                found.append(payload[6:].decode(errors="replace"))
            elif kind == b"E":
                fields = {part[:1]: part[1:].decode() for part in payload.split(b"\0") if part}
                found.append(fields[b"C"])
            elif kind == b"Z":
                return [*found, payload.decode()]

    def execute(self, statements, one_by_one=False):
        for sql in statements:
            text = sql.encode() + b"\0"
            self.socket.sendall(message(b"P", b"\0" + text + b"\0\0") + message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0") +
                                (message(b"H") if one_by_one else b""))
        self.socket.sendall(message(b"S"))
        return self.until_ready()

    def query(self, sql):
        self.socket.sendall(message(b"Q", sql.encode() + b"\0"))
        return self.until_ready()


def run_pipelines(server, user, database, one_by_one):
    client = Client(server, user, database)
    client.query(SCHEMA)
    found = []
    for statements in PIPELINES:
        answer = client.execute(statements, one_by_one)
        found.append((statements, answer, [] if answer[-1] != "I" else client.query("SELECT string_agg(id || note, ' ' ORDER BY id) FROM piped")))
    client.socket.close()
    return found


def check_messages(node, postgres):
    for one_by_one in (False, True):
        here = run_pipelines(node, "alice", "scyper", one_by_one)
        there = run_pipelines(postgres, "postgres", "postgres", one_by_one)
        for ours, theirs in zip(here, there):
            expect(f"{'flushed ' if one_by_one else ''}{'; '.join(ours[0])}", ours == theirs, (ours[1:], theirs[1:]))


def check_mixed(node):
    """A pipeline that a simple query ends, one whose client goes away, and one that waits for its client."""
    client = Client(node, "alice", "scyper")
    client.query(SCHEMA)
    client.socket.sendall(message(b"P", b"\0INSERT INTO piped VALUES (1, 'a')\0\0\0") + message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0"))
    expect("a simple query is part of the pipeline before it", client.query("SELECT 1/0")[-2:] == ["22012", "I"])
    expect("and takes it back", client.query("SELECT count(*) FROM piped")[0].endswith("0"))
    client.socket.sendall(message(b"P", b"\0INSERT INTO piped VALUES (20, 'late')\0\0\0") + message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0"))
    time.sleep(0.2)
    client.socket.sendall(message(b"S"))
    expect("a Sync that comes late", client.until_ready() == ["INSERT 0 1", "I"])
    long = b"\0\0\0\0\0\1" + struct.pack("!i", 300000) + b"x" * 300000 + b"\0\0"
    client.socket.sendall(message(b"P", b"\0INSERT INTO piped VALUES (21, $1)\0\0\0") + message(b"B", long) + message(b"E", b"\0\0\0\0\0") + message(b"S"))
    expect("a long value before Sync", client.until_ready() == ["INSERT 0 1", "I"])
    client.query("DELETE FROM piped")
    client.socket.sendall(message(b"P", b"\0INSERT INTO piped VALUES (2, 'b')\0\0\0") + message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0") + message(b"H"))
    while client.read()[0] != b"C":
        continue
    client.socket.close()
    other = Client(node, "alice", "scyper")
    other.query("INSERT INTO piped VALUES (3, 'c')")
    expect("a client that goes away before Sync leaves nothing", other.query("SELECT string_agg(note, '') FROM piped")[0] == "c")
    other.socket.close()


def check_psycopg(node):
    psycopg = optional("psycopg")
    if psycopg is None:
        return
    with psycopg.connect(f"host=127.0.0.1 port={node.port} user=alice dbname=scyper", autocommit=True) as db:
        db.execute(SCHEMA)
        try:
            with db.pipeline():
                for number in (1, 2, 3, 1, 4):
                    db.execute("INSERT INTO piped VALUES (%s, 'p')", [number])
            expect("psycopg: a pipeline's error comes", False)
        except psycopg.errors.UniqueViolation:
            expect("psycopg: a pipeline's error comes", True)
        count = db.execute("SELECT count(*) FROM piped").fetchone()[0]
        expect("psycopg: and undoes the whole pipeline", count == 0, count)
        with db.pipeline() as pipeline:
            db.execute("INSERT INTO piped VALUES (10, 'p')")
            pipeline.sync()
            db.execute("INSERT INTO piped VALUES (11, 'p')")
        count = db.execute("SELECT count(*) FROM piped").fetchone()[0]
        expect("psycopg: each Sync ends a transaction", count == 2, count)


def check_pgbench(node):
    if not pathlib.Path(PGBENCH).exists():
        print("skip  pgbench: not installed", flush=True)
        return
    node_client = Client(node, "alice", "scyper")
    node_client.query(SCHEMA)
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "pipeline.sql"
        script.write_text("\\set n :client_id * 1000 + random(1, 900)\n\\startpipeline\nINSERT INTO piped VALUES (:n, 'p') ON CONFLICT DO NOTHING;\n"
                          "UPDATE piped SET note = note || 'q' WHERE id = :n;\nSELECT note FROM piped WHERE id = :n;\n\\endpipeline\n")
        done = subprocess.run([PGBENCH, "-h", "127.0.0.1", "-p", str(node.port), "-U", "alice", "-n", "-M", "extended", "-c", "2", "-t", "50", "-f", script, "scyper"],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    expect("pgbench: pipelines of two clients", done.returncode == 0 and "processed: 100/100" in done.stdout, done.stderr[-600:] + done.stdout[-600:])
    odd = node_client.query("SELECT count(*) FROM piped WHERE note NOT LIKE 'pq%'")
    expect("pgbench: no half of a pipeline", odd[0].endswith("0"), odd)


def main():
    program = sys.argv[1]
    postgres = Postgres(tempfile.mkdtemp())
    node = Node(program)
    try:
        check_messages(node, postgres)
        check_mixed(node)
        check_psycopg(node)
        check_pgbench(node)
    finally:
        node.stop()
        postgres.stop()
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
