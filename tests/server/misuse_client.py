#!/usr/bin/env python3
"""A client of another language, made from proto/scyper.proto alone, that misuses a node.

Usage: misuse_client.py ADDRESS|PROGRAM   (a node that answers on ADDRESS, in plain text, or a scyperd to start for it)
Debian: python3-grpcio, protobuf-compiler-grpc. Each check says what it found; the last line counts the failures, and so does the exit code.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import grpc

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
OUT = tempfile.TemporaryDirectory()
subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={OUT.name}", f"--grpc_python_out={OUT.name}",
                "--plugin=protoc-gen-grpc_python=" + shutil.which("grpc_python_plugin"), "scyper.proto"], check=True)
sys.path.insert(0, OUT.name)
import scyper_pb2 as pb  # noqa: E402
import scyper_pb2_grpc as rpc  # noqa: E402

failures = 0


def expect(what, condition, found=""):
    global failures
    failures += 0 if condition else 1
    print(("ok    " if condition else "FAIL  ") + what + (f": {found}" if found != "" else ""), flush=True)


class Node:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, [("grpc.max_send_message_length", -1)])
        self.transactions = rpc.TransactionsStub(self.channel)
        self.queries = rpc.QueriesStub(self.channel)
        self.admin = rpc.AdminStub(self.channel)

    def run(self, sql, timeout=120):
        text = sql if isinstance(sql, bytes) else sql.encode()
        rows = []
        for part in self.queries.Execute(pb.ExecuteRequest(sql=text), timeout=timeout):
            if part.HasField("rows"):
                rows += [[v.integer if v.WhichOneof("kind") == "integer" else v for v in r.values] for r in part.rows.rows]
        return rows

    def error(self, call):
        """Code and SQLSTATE (from the binary status details) of a call that has to fail."""
        try:
            call()
        except grpc.RpcError as e:
            details = dict(e.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
            return e.code().name, details
        return "OK", b""

    def value(self, sql):
        return self.run(sql)[0][0]


def call(sql, *arguments, timeout_ms=0, request_id=0):
    return pb.Call(request_id=request_id, sql=sql.encode(), timeout_ms=timeout_ms,
                   arguments=[pb.Value(integer=a) if isinstance(a, int) else pb.Value(text=a) for a in arguments])


def check_values(node):
    for sql, state in [("SELEC 1", b"42601"), ("SELECT nosuch", b"42703"), ("SELECT 1/0", b"22012"),
                       (b"SELECT '\xff'", b"22021"), (b"SELECT 'a\x00b'", b"22021"), ("INSERT INTO m VALUES (1)", b"23505"),
                       ("SELECT " + "(" * 20000 + "1" + ")" * 20000, b"54001")]:
        code, details = node.error(lambda: node.run(sql))
        expect(f"Execute {sql[:30]!r}", state in details, (code, details[:60]) if state not in details else "")
    for what, bad, state in [
            ("too few arguments", call("SELECT $1::integer + $2::integer", 1), b"08P01"),
            ("too many arguments", call("INSERT INTO m VALUES ($1)", 1, 2), b"08P01"),
            ("text for a number", call("INSERT INTO m VALUES ($1)", b"x"), b"42804"),
            ("invalid UTF-8", call("SELECT $1::text", b"\xff"), b"22021"),
            ("number out of range", call("INSERT INTO m VALUES ($1)", 1 << 40), b"22003"),
            ("unknown statement", pb.Call(statement_id=77), b"26000"),
            ("malformed packed row", pb.Call(sql=b"INSERT INTO m VALUES ($1)", packed_arguments=b"\x00\x01"), b"08P01"),
            ("packed row with a rest", pb.Call(sql=b"INSERT INTO m VALUES ($1)", packed_arguments=b"\x00" * 50), b"08P01")]:
        code, details = node.error(lambda: node.transactions.Call(pb.CallRequest(call=bad), timeout=120))
        expect(what, code != "OK" and state in details, (code, details[:60]) if state not in details else "")
    expect("nothing was left behind", node.value("SELECT count(*) FROM m") == 1)


def check_sizes(node):
    code, _ = node.error(lambda: node.run("SELECT '" + "x" * (80 << 20) + "'"))
    expect("a message over the limit", code == "RESOURCE_EXHAUSTED", code)
    code, details = node.error(lambda: node.transactions.Call(pb.CallRequest(call=call(
        "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)")), timeout=120))
    expect("a result over the limit", b"54000" in details or b"53200" in details, (code, details[:60]))


def check_time(node):
    loop = "DO $$ BEGIN LOOP UPDATE m SET a = a; END LOOP; END $$"
    code, details = node.error(
        lambda: node.transactions.Call(pb.CallRequest(call=call(loop, timeout_ms=300)), timeout=120))
    expect("an endless loop with a time-out", b"57014" in details, (code, details[:60]))
    code, _ = node.error(lambda: node.transactions.Call(pb.CallRequest(call=call(loop)), timeout=0.3))
    expect("an endless loop with a deadline", code == "DEADLINE_EXCEEDED", code)
    start = time.time()
    expect("the node goes on", node.value("SELECT a FROM m") == 1)
    print(f"      after {time.time() - start:.2f} s")
    code, _ = node.error(lambda: node.run(loop, timeout=0.3))
    expect("an endless loop in Execute", code == "DEADLINE_EXCEEDED", code)
    start = time.time()
    expect("the node goes on after it", node.value("SELECT a FROM m") == 1)
    waited = time.time() - start
    expect("a client that went away frees its worker", waited < 50, f"{waited:.2f} s")


def check_streams(node):
    def calls(n, sleep=0.0):
        for i in range(n):
            yield pb.CallBatch(calls=[call("INSERT INTO n VALUES ($1)", i, request_id=i + 1)])
            time.sleep(sleep)

    stream = node.transactions.Stream(calls(2000))
    for i, _ in enumerate(stream):
        if i == 5:
            stream.cancel()
            break
    time.sleep(0.5)
    done = node.value("SELECT count(*) FROM n")
    expect("disconnect in mid-stream", 0 < done <= 2000, f"{done} of 2000 calls ran")
    big = pb.CallBatch(calls=[call("SELECT 1", request_id=i + 1) for i in range(200000)])
    code, _ = node.error(lambda: list(node.transactions.Stream(iter([big]), timeout=120)))
    expect("a batch of too many calls", code in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"), code)
    code, _ = node.error(lambda: list(node.transactions.Stream(iter([pb.CallBatch(packed_calls=b"\x01\x02")]), timeout=120)))
    expect("malformed packed calls", code == "INVALID_ARGUMENT", (code, _))
    # one statement keeps the worker busy, the queue fills up
    slow = threading.Thread(target=lambda: node.error(lambda: node.transactions.Call(pb.CallRequest(
        call=call("DO $$ BEGIN LOOP NULL; END LOOP; END $$", timeout_ms=2000)), timeout=120)))
    slow.start()
    time.sleep(0.2)
    batch = pb.CallBatch(calls=[call("SELECT a FROM m", request_id=i + 1) for i in range(1000)])
    results, answered = {}, 0
    for message in node.transactions.Stream(iter([batch] * 12), timeout=120):
        for result in message.results:
            answered += 1
            results[result.error.sqlstate] = results.get(result.error.sqlstate, 0) + 1
    slow.join()
    expect("a full queue refuses and answers all", answered == 12000 and set(results) <= {"", "53300"}, results)
    expect("the node goes on", node.value("SELECT a FROM m") == 1)


def check_many(node, address):
    def impatient():
        other = Node(address)
        iterator = other.queries.Execute(pb.ExecuteRequest(sql=b"SELECT i, repeat('x', 100) FROM generate_series(1, 200000) g(i)"))
        next(iterator)
        iterator.cancel()
        other.channel.close()

    threads = [threading.Thread(target=impatient) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    expect("readers that leave", node.value("SELECT count(*) FROM m") == 1)


def misuse(address):
    node = Node(address)
    node.run("DROP TABLE IF EXISTS m; DROP TABLE IF EXISTS n; CREATE TABLE m (a integer PRIMARY KEY);"
             "INSERT INTO m VALUES (1); CREATE TABLE n (a integer PRIMARY KEY)")
    for check in (check_values, check_sizes, check_time, check_streams):
        check(node)
    check_many(node, address)
    print(f"{failures} failures")


def main():
    if not os.path.exists(sys.argv[1]):
        misuse(sys.argv[1])
    else:
        process = subprocess.Popen([sys.argv[1], "--listen", "127.0.0.1:0", "--http-listen", "", "--memory", "1GB",
                                    "--transaction-time-max", "100s"],
                                   stdout=subprocess.PIPE, text=True)
        try:
            misuse("127.0.0.1:" + re.search(r"gRPC on port (\d+)", process.stdout.readline())[1])
            expect("the node lives and stops when told to", process.poll() is None)
        finally:
            process.terminate()
            expect("exit code", process.wait(timeout=120) == 0, process.returncode)
    sys.exit(min(failures, 100))


if __name__ == "__main__":
    main()
