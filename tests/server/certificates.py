#!/usr/bin/env python3
"""scyper certs: what it makes, and a node and clients that use it.

Usage: certificates.py SCYPERD SCYPER
Debian: openssl. Each check says what it found; the last line counts the failures, and so does the exit code.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, PATIENCE_S, expect, run


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


def main():
    with tempfile.TemporaryDirectory() as directory:
        made = pathlib.Path(directory) / "made"
        check_files(sys.argv[2], made)
        check_node(sys.argv[1], sys.argv[2], made)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
