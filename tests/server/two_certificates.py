#!/usr/bin/env python3
"""Two clients of one node by TLS: what one has opened, prepared or sent under a number is nothing to the other's certificate.

Usage: two_certificates.py SCYPERD SCYPER
Debian: python3-grpcio, protobuf-compiler-grpc. Each check says what it found; the last line counts the failures, and so does the exit code.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import grpc

from certificates import TlsNode
from checks import CHECKS, PATIENCE_S, expect, run

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
OUT = tempfile.TemporaryDirectory()
subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={OUT.name}", f"--grpc_python_out={OUT.name}",
                "--plugin=protoc-gen-grpc_python=" + shutil.which("grpc_python_plugin"), "scyper.proto"], check=True)
sys.path.insert(0, OUT.name)
import scyper_pb2 as pb  # noqa: E402
import scyper_pb2_grpc as rpc  # noqa: E402

CLIENT = 9  # a client id that both use


class Client:
    """Comes with the certificate of that name."""

    def __init__(self, made, port, name):
        read = lambda file: (made / file).read_bytes()
        credentials = grpc.ssl_channel_credentials(read("ca.pem"), read(f"{name}.key"), read(f"{name}.pem"))
        channel = grpc.secure_channel(f"localhost:{port}", credentials)
        self.transactions = rpc.TransactionsStub(channel)
        self.queries = rpc.QueriesStub(channel)

    def execute(self, **request):
        """Rows as lists of texts and numbers, or the code and the SQLSTATE of the error."""
        try:
            parts = list(self.queries.Execute(pb.ExecuteRequest(**request), timeout=PATIENCE_S))
        except grpc.RpcError as error:
            return failure_of(error)
        return [[getattr(value, value.WhichOneof("kind")) for value in row.values] for part in parts if part.HasField("rows") for row in part.rows.rows]

    def call(self, **call):
        """Also its rows, or the error."""
        try:
            result = self.transactions.Call(pb.CallRequest(call=pb.Call(**call)), timeout=PATIENCE_S).result
        except grpc.RpcError as error:
            return failure_of(error)
        return [[getattr(value, value.WhichOneof("kind")) for value in row.values] for row in result.rows]


def failure_of(error):
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    states = [state for state in ("26000", "42501", "55000", "34000", "22023", "08003", "08P01") if state.encode() in details]
    return error.code().name, *states


def failure(function, request):
    try:
        function(request, timeout=PATIENCE_S)
    except grpc.RpcError as error:
        return failure_of(error)
    return "OK"


def make_roles(admin):
    for sql in ("CREATE ROLE ada LOGIN IN ROLE scyper_client", "CREATE ROLE ben LOGIN IN ROLE scyper_client", "CREATE TABLE notes (id integer PRIMARY KEY, who text)",
                "GRANT SELECT, INSERT ON notes TO ada, ben", "INSERT INTO notes VALUES (0, 'admin')", "CREATE ROLE admin LOGIN SUPERUSER PASSWORD 'sesame'"):
        answer = admin.execute(sql=sql.encode())
        expect(sql.split(" PASSWORD")[0], answer == [], answer)


def check_sessions(ada, ben):
    session = ada.queries.OpenSession(pb.OpenSessionRequest(), timeout=PATIENCE_S).session
    ask = {"sql": b"SELECT who FROM notes", "query": pb.QueryOptions(session=session)}
    unknown = ben.execute(sql=b"SELECT 1", query=pb.QueryOptions(session=session + 1000))
    expect("a session is its owner's", ada.execute(**ask) == [[b"admin"]], ada.execute(**ask))
    answer = ben.execute(**ask)
    expect("another's is as one that is not there", answer == unknown and answer[0] != "OK" and isinstance(answer, tuple), (answer, unknown))
    answer = failure(ben.queries.Prepare, pb.PrepareQueryRequest(sql=b"SELECT who FROM notes", session=session))
    expect("nobody else prepares in it", answer != "OK", answer)
    answer = failure(ben.queries.CloseSession, pb.CloseSessionRequest(session=session))
    expect("nobody else closes it", ada.execute(**ask) == [[b"admin"]], (answer, ada.execute(**ask)))
    answer = failure(ada.queries.CloseSession, pb.CloseSessionRequest(session=session))
    expect("its owner does", answer == "OK" and ada.execute(**ask) == unknown, (answer, ada.execute(**ask)))


def check_prepared(ada, ben):
    text = b"SELECT who FROM notes WHERE id = 0"
    number = ada.queries.Prepare(pb.PrepareQueryRequest(sql=text), timeout=PATIENCE_S).statement_id
    query = pb.QueryOptions()
    expect("a prepared query", ada.execute(statement_id=number, query=query) == [[b"admin"]])
    answer = ben.execute(statement_id=number, query=query)
    expect("another's number is not known", answer[-1] == "26000", answer)
    number = ada.transactions.Prepare(pb.PrepareRequest(sql=text), timeout=PATIENCE_S).statement_id
    expect("a prepared statement", ada.call(statement_id=number) == [[b"admin"]])
    answer = ben.call(statement_id=number)
    expect("another's number is not known either", answer[-1] == "26000", answer)


def check_requests(ada, ben):
    """The same numbers of client and request: each role has an outcome of its own."""
    def insert(who, number):
        return {"sql": f"INSERT INTO notes VALUES ({number}, '{who}') RETURNING who".encode(), "client_id": CLIENT, "request_id": 1}
    expect("a request", ada.call(**insert("ada", 1)) == [[b"ada"]])
    expect("sent again it is answered, not repeated", ada.call(**insert("ada", 1)) == [[b"ada"]])
    answer = ben.call(**insert("ben", 2))
    expect("another's has an answer of its own", answer == [[b"ben"]], answer)
    answer = ben.execute(**insert("ben", 2))
    expect("by Execute it is the same request, sent again", answer == [[b"ben"]], answer)
    expect("and the first one's stays", ada.call(**insert("ada", 1)) == [[b"ada"]])
    rows = ada.execute(sql=b"SELECT who FROM notes ORDER BY id", query=pb.QueryOptions())
    expect("each was done once", rows == [[b"admin"], [b"ada"], [b"ben"]], rows)


def main():
    with tempfile.TemporaryDirectory() as directory:
        made = pathlib.Path(directory) / "made"
        run(sys.argv[2], "certs", made, "--node", "node", "--client", "ada", "--client", "ben", "--client", "admin")
        node = TlsNode(sys.argv[1], made, "--authorization")
        try:
            admin, ada, ben = (Client(made, node.port, name) for name in ("admin", "ada", "ben"))
            make_roles(admin)
            check_sessions(ada, ben)
            check_prepared(ada, ben)
            check_requests(ada, ben)
        finally:
            node.process.terminate()
            expect("the node stops", node.process.wait(timeout=PATIENCE_S) == 0)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
