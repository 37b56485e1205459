#!/usr/bin/env python3
"""scyper certs: what it makes, and a node and clients that use it.

Usage: certificates.py SCYPERD SCYPER
Debian: openssl. Each check says what it found; the last line counts the failures, and so does the exit code.
"""
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, PATIENCE_S, expect, run, wait_for


def check_files(scyper, made):
    certs = [scyper, "certs", made]
    code, out = run(*certs, "--node", "node=example.test,10.1.2.3", "--client", "ada")
    expect("an authority, a node, a client", code == 0 and len(out.split()) == 6, out)
    rights = {path.name: oct(path.stat().st_mode & 0o777) for path in made.glob("*.key")}
    expect("keys are their owner's", len(rights) == 3 and set(rights.values()) == {"0o600"}, rights)
    code, out = run(*certs, "--node", "node")
    expect("nothing is replaced unasked", code == 1 and "is there already" in out, out)
    for wrong in ("../x", "a b", "ca", "", ".x", "n=bad host"):
        code, out = run(*certs, "--node", wrong)
        expect(f"no name: {wrong!r}", code == 1 and ("is no name" in out or "is no host" in out), out)
    _, text = run("openssl", "x509", "-noout", "-text", "-in", made / "node.pem")
    expect("names, addresses and uses", all(part in text for part in ("DNS:node", "DNS:localhost", "DNS:example.test", "IP Address:10.1.2.3", "CA:FALSE",
                                                                    "TLS Web Server Authentication")), text)
    _, text = run("openssl", "x509", "-noout", "-text", "-in", made / "ada.pem")
    expect("a client does not serve", "TLS Web Client Authentication" in text and "Server Authentication" not in text and "CN = ada" in text, text)
    for name in ("node", "ada"):
        code, text = run("openssl", "verify", "-x509_strict", "-CAfile", made / "ca.pem", made / f"{name}.pem")
        expect(f"the authority has signed {name}", code == 0, text)
    before = [(made / name).read_bytes() for name in ("ca.pem", "node.pem", "ada.pem")]
    code, out = run(*certs, "--node", "node", "--replace")
    after = [(made / name).read_bytes() for name in ("ca.pem", "node.pem", "ada.pem")]
    expect("replaced is what was named", code == 0 and [a == b for a, b in zip(before, after)] == [True, False, True], out)
    run(scyper, "certs", made / "other", "--client", "ada")


def check_node(scyperd, scyper, made):
    process = subprocess.Popen([scyperd, "--listen", "localhost:0", "--http-listen", "", "--partitions", "2", "--workers", "1", "--memory", "1GB",
                                "--tls-cert", made / "node.pem", "--tls-key", made / "node.key", "--tls-client-ca", made / "ca.pem"],
                               stdout=subprocess.PIPE, text=True)
    try:
        line = next((line for line in process.stdout if "gRPC on port" in line), "")
        target = ["--target", "localhost:" + re.search(r"gRPC on port (\d+)", line).group(1), "--ca", made / "ca.pem"]
        question = ["sql", "-c", "SELECT 40 + 2"]
        code, out = run(scyper, *target, "--cert", made / "ada.pem", "--key", made / "ada.key", *question)
        expect("a client of the authority", code == 0 and "42" in out, out)
        other = made / "other"
        code, out = run(scyper, *target, "--cert", other / "ada.pem", "--key", other / "ada.key", *question)
        expect("another authority's is refused", code == 3, (code, out))
        code, out = run(scyper, *target, *question)
        expect("so is who has none", code == 3, (code, out))
        code, out = run(scyper, *target[:2], *question)
        expect("and who does not speak TLS", code == 3, (code, out))
    finally:
        process.terminate()
        expect("the node stops", process.wait(timeout=PATIENCE_S) == 0)


class TlsNode:
    """A node with all its ports, and what it says."""
    def __init__(self, scyperd, made, *more):
        self.said = []
        self.made = made
        self.process = subprocess.Popen([scyperd, "--listen", "localhost:0", "--http-listen", "localhost:0", "--postgres-listen", "localhost:0", "--partitions", "2",
                                         "--workers", "1", "--memory", "1GB", "--tls-cert", made / "node.pem", "--tls-key", made / "node.key", "--tls-client-ca",
                                         made / "ca.pem", *more], stdout=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stdout if "gRPC on port" in line)
        self.port = int(re.search(r"gRPC on port (\d+)", line)[1])
        self.postgres = int(re.search(r"PostgreSQL clients on port (\d+)", line)[1])
        self.metrics = re.search(r"http://\S*/metrics", line)[0]
        threading.Thread(target=lambda: self.said.extend(self.process.stdout), daemon=True).start()

    def connect(self, port, who="ada"):
        """By TLS; PostgreSQL's clients ask for it first."""
        context = ssl.create_default_context(cafile=self.made / "ca.pem")
        context.load_cert_chain(self.made / f"{who}.pem", self.made / f"{who}.key")
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection(("localhost", port), timeout=PATIENCE_S)
        if port == self.postgres:
            plain.sendall(struct.pack("!ii", 8, 80877103))
            assert plain.recv(1) == b"S"
        return context.wrap_socket(plain, server_hostname="localhost")

    def shown(self, port):
        with self.connect(port) as connection:
            return connection.getpeercert(binary_form=True)

    def counted(self, name):
        return float(re.search(rf"^{name}(?:\{{.*\}})? (\S+)", urllib.request.urlopen(self.metrics).read().decode(), re.M)[1])


def ask(connection):
    """A query of a session of PostgreSQL's protocol, as far as it has come to its end."""
    connection.sendall(b"Q" + struct.pack("!i", 13) + b"SELECT 1\0")
    answer = b""
    while not answer.endswith(b"Z\0\0\0\x05I"):
        answer += connection.recv(4096)
    return b"SELECT 1\0" in answer


def check_reload(scyperd, scyper, made):
    der = lambda: ssl.PEM_cert_to_DER_cert((made / "node.pem").read_text())
    node = TlsNode(scyperd, made)
    try:
        ports, first = (node.port, node.postgres), der()
        expect("both ports show the file's certificate", [node.shown(port) for port in ports] == [first, first])
        old = node.connect(node.postgres)
        start = struct.pack("!i", 196608) + b"user\0ada\0\0"
        old.sendall(struct.pack("!i", len(start) + 4) + start)
        while not (greeting := old.recv(4096)).endswith(b"Z\0\0\0\x05I"):
            expect("a session", greeting != b"")
        run(scyper, "certs", made, "--node", "node", "--replace")
        second = der()
        wait_for("another certificate at both ports", lambda: [node.shown(port) for port in ports] == [second, second])
        expect("it is another", first != second)
        expect("a session goes on", ask(old) and old.getpeercert(binary_form=True) == first)
        expect("the node tells", any("TLS: new files for new connections" in line for line in node.said), node.said)
        expect("and counts", node.counted("scyper_tls_reloads_total") == 1 and node.counted("scyper_tls_certificate_expires_seconds") > 1.7e9)
        good = (made / "node.pem").read_text()
        (made / "node.pem").write_text("no certificate\n")
        node.process.send_signal(signal.SIGHUP)
        wait_for("a word on the broken file", lambda: any("cannot be used, those before stay" in line for line in node.said))
        expect("the certificate before stays", [node.shown(port) for port in ports] == [second, second])
        expect("that is counted, too", node.counted("scyper_tls_reload_failures_total") == 1)
        (made / "node.pem").write_text(good)
        stranger = ["--target", f"localhost:{node.port}", "--ca", made / "ca.pem", "--cert", made / "other" / "ada.pem", "--key", made / "other" / "ada.key"]
        code, out = run(scyper, *stranger, "sql", "-c", "SELECT 40 + 2")
        expect("another authority's is refused", code == 3, (code, out))
        expect("that is counted and said", node.counted("scyper_tls_handshakes_failed_total") >= 1 and any("failed in its handshake: " in line for line in node.said), node.said)
        (made / "ca.pem").write_text((made / "ca.pem").read_text() + (made / "other" / "ca.pem").read_text())
        node.process.send_signal(signal.SIGHUP)
        wait_for("not any more where its authority has come", lambda: run(scyper, *stranger, "sql", "-c", "SELECT 40 + 2")[0] == 0)
        expect("the session goes on", ask(old))
        old.close()
    finally:
        node.process.terminate()
        expect("the node stops", node.process.wait(timeout=PATIENCE_S) == 0)


def main():
    with tempfile.TemporaryDirectory() as directory:
        made = pathlib.Path(directory) / "made"
        check_files(sys.argv[2], made)
        check_node(sys.argv[1], sys.argv[2], made)
        check_reload(sys.argv[1], sys.argv[2], made)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
