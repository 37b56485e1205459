#!/usr/bin/env python3
"""scyper top and scyper support-bundle on a real primary and secondary: in a terminal, through a pipe, as JSON; nothing secret in a bundle.

Usage: operators.py SCYPERD SCYPER   Nothing is timed: what is not there yet is looked for again until patience ends.
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, comes_true, expect, run
from page import Node

SECRET = "Rumpelstilzchen"
PATIENCE_S = 120


class Terminal:
    """A program in a terminal of its own, and what it has written."""

    def __init__(self, columns, lines, *command):
        self.process, self.file = pty.fork()
        if self.process == 0:
            os.execv(command[0], list(map(str, command)))
        self.text = ""
        self.resize(columns, lines)

    def resize(self, columns, lines):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys):
        os.write(self.file, keys.encode())

    def look(self, condition):
        """Whether the last whole picture becomes so."""
        return comes_true("a picture", lambda: self.read() and condition(self.picture()), PATIENCE_S)

    def read(self):
        while select.select([self.file], [], [], 0.05)[0]:
            try:
                data = os.read(self.file, 65536)
            except OSError:
                return True
            if not data:
                return True
            self.text += data.decode(errors="replace")
        return True

    def picture(self):
        """Lines between the last two times that the cursor went home."""
        parts = self.text.split("\033[H")
        last = parts[-1] if "\033[J" in parts[-1] else parts[-2] if len(parts) > 1 else ""
        return re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", last).replace("\r", "").split("\n")

    def wait(self):
        """Exit code; the terminal's flags as they are then."""
        flags = None
        def ended():
            nonlocal flags
            self.read()
            flags = termios.tcgetattr(self.file)[3]
            pid, self.status = os.waitpid(self.process, os.WNOHANG)
            return pid != 0
        comes_true("its end", ended)
        return os.waitstatus_to_exitcode(self.status), flags


def free_port():
    """That a secondary can tell its primary of."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def has(picture, pattern):
    return any(re.search(pattern, line) for line in picture)


def check_top_live(scyper, target, pay):
    top = Terminal(110, 40, scyper, "top", "--target", target, "--interval", "0.2")
    def shows(what, pattern):
        def look(picture):
            pay()
            return has(picture, pattern)
        expect(f"top shows {what}", top.look(look), top.picture())
    shows("the primary", r"^ScyPer.*: primary p1")
    shows("the keys", r"every 0.2 s, q quits$")
    shows("the primary's transactions a second", r"^p1 .*  primary +[1-9]")
    shows("the secondary, found by itself", r"^s1 .*  secondary ")
    shows("procedures and how many there are", r"^pay +[1-9]")
    shows("stages of what a query saw", r"^replay +s1 ")
    shows("snapshots", r"^[ps]1 +\d+ +[1-9]")
    expect("no line is wider than the terminal", all(len(line) <= 110 for line in top.picture()), top.picture())
    top.resize(50, 5)
    def is_small(picture):
        return len(picture) == 5 and all(len(line) <= 50 for line in picture) and has(picture, "^ScyPer")
    expect("it follows the size of the terminal", top.look(is_small), top.picture())
    top.type("x")
    expect("other keys do nothing", top.look(is_small), top.picture())
    top.type("q")
    code, flags = top.wait()
    expect("q ends it", code == 0, code)
    expect("the terminal is as it was", flags & termios.ECHO and flags & termios.ICANON and top.text.rstrip().endswith("\033[?1049l"), top.text[-60:])
    top = Terminal(80, 24, scyper, "top", "--target", target)
    expect("another one", top.look(lambda picture: has(picture, "primary p1")), top.text)
    os.kill(top.process, signal.SIGTERM)
    code, flags = top.wait()
    expect("a signal ends it in good order", code == 0 and flags & termios.ECHO and "\033[?1049l" in top.text, (code, top.text[-60:]))


def check_top_once(scyper, target, secondary, pay):
    pay()
    code, said = run(scyper, "top", "--target", target, "--interval", "0.2")
    expect("a pipe gets one picture without colours", code == 0 and said.count("ScyPer") == 1 and "\033" not in said, said)
    code, said = run(scyper, "top", "--once", "-o", "json", "--interval", "0.2", "--target", secondary)
    found = json.loads(said)
    nodes = {node["status"]["node"]: node for node in found["nodes"]}
    expect("from the secondary, too, the whole cluster is seen", set(nodes) == {"p1", "s1"}, said)
    expect("rates are of the time between", nodes["p1"]["rates"]["seconds"] > 0 and "pay" in nodes["p1"]["rates"]["procedures"], nodes["p1"]["rates"])
    expect("with all that the status has", sum(node["status"]["queries"]["started"] for node in nodes.values()) > 0 and nodes["s1"]["status"]["role"] == "secondary", said)
    code, said = run(scyper, "top", "--once", "--target", "127.0.0.1:1")
    expect("no node: exit code 3", code == 3, (code, said))
    code, said = run(scyper, "top", "--interval", "0", "--target", target)
    expect("no time between pictures: exit code 2", code == 2, said)


def plant(directory, node):
    """Settings, users and messages with a secret in each."""
    users = directory / "users"
    users.write_text(f"alice:{SECRET}\n")
    config = directory / "node.toml"
    config.write_text(f'# password: {SECRET}\nlisten = "{node.target}"\nhttp_listen = "{node.url[7:-1]}"\npostgres_users = "{users}"\n'
                      f'data_directory = "{directory / "p1"}"\narchive_directory = "http://backup:{SECRET}@store/bucket"\n')
    messages = directory / "messages"
    messages.write_text(f"first\nscyperd: CREATE ROLE a PASSWORD '{SECRET}'\nAuthorization: Basic {SECRET}\n"
                        f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\nlast\n" + node.messages.read_text())
    return config, messages


def texts_of(path):
    if path.is_dir():
        return {file.name: file.read_text() for file in path.iterdir()}
    with tarfile.open(path) as packed:
        return {pathlib.Path(item.name).name: packed.extractfile(item).read().decode() for item in packed if item.isfile()}


def check_bundle(scyper, directory, node):
    config, messages = plant(directory, node)
    environment = {**os.environ, "PGPASSWORD": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET}
    for path in (directory / "bundle", directory / "bundle.tar.gz"):
        code, said = run(scyper, "support-bundle", path, "--config", config, "--node-log", messages, env=environment)
        expect(f"{path.name} is made", code == 0 and "Could not be had" not in said, said)
        expect("nobody else may read it", path.stat().st_mode & 0o077 == 0, oct(path.stat().st_mode))
        texts = texts_of(path)
        for name, part in {"README.txt": "metrics.txt", "configuration.toml": "node_name =", "status.txt": "transactions", "status.json": '"role": "primary"',
                           "metrics.txt": "scyper_transactions_total", "ready.txt": "ready", "doctor.txt": "memory", "versions.txt": "kernel Linux",
                           "kernel.txt": "MemTotal", "log.txt": "segment 1", "messages.txt": "gRPC on port"}.items():
            expect(f"{name} has {part}", part in texts.get(name, ""), texts.get(name, sorted(texts)))
        expect("what it prints is in it", said.split(": ", 1)[1].rstrip() in texts["README.txt"], texts["README.txt"])
        shown = [name for name, text in texts.items() if SECRET in text]
        expect("no secret is in it", not shown, shown)
        expect("what stands around secrets is", "first\n" in texts["messages.txt"] and "\nlast\n" in texts["messages.txt"], texts["messages.txt"])
    code, said = run(scyper, "support-bundle", directory / "bundle", "--config", config)
    expect("what is there is not written over", code == 1 and "is there already" in said, said)
    code, said = run(scyper, "support-bundle", directory / "alone", "--target", "127.0.0.1:1", "--http", "127.0.0.1:1", "--node-log", "/nowhere", "--no-log")
    texts = texts_of(directory / "alone")
    expect("without a node there is the rest, and why", code == 0 and {"kernel.txt", "doctor.txt", "README.txt"} <= set(texts) and "status.txt" not in texts and
           "/nowhere: No such file" in texts["README.txt"], said)


def main(scyperd, scyper):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        nodes = []
        try:
            nodes.append(Node(directory, scyperd, "p1", "--replication"))
            primary = nodes[0]
            nodes.append(Node(directory, scyperd, "s1", "--role", "secondary", "--primary", primary.target, port=free_port()))
            code, said = run(scyper, "sql", "--target", primary.target, "-c", "CREATE TABLE t (a integer PRIMARY KEY, b text)",
                             "-c", f"INSERT INTO t VALUES (0, '{SECRET}')",
                             "-c", "CREATE PROCEDURE pay(x integer) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (x, NULL) ON CONFLICT DO NOTHING; END $$",
                             "-c", f"SELECT count(*) FROM t WHERE b = '{SECRET}'")
            expect("a database", code == 0, said)
            calls = iter(range(1, 1_000_000))
            def pay():
                run(scyper, "sql", "--target", primary.target, *[word for _ in range(10) for word in ("-c", f"CALL pay({next(calls)})")], "-c", "SELECT count(*) FROM t")
            pay()
            check_top_live(scyper, primary.target, pay)
            check_top_once(scyper, primary.target, nodes[1].target, pay)
            check_bundle(scyper, directory, primary)
        finally:
            for node in reversed(nodes):
                node.stop()
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
