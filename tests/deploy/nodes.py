"""Programs that the tests of Prometheus' files start: nodes, and what they need."""
import pathlib
import re
import signal
import socket
import subprocess
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import wait_for

PATIENCE_S = 300


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return answer.read().decode()


class Process:
    """A program whose messages go to a file; it ends with stop()."""

    def __init__(self, directory, name, *command):
        self.messages = directory / f"{name}.messages"
        self.name = name
        with open(self.messages, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out)

    def line(self, pattern):
        def look():
            found = re.search(pattern, self.messages.read_text())
            if found is None and self.process.poll() is not None:
                raise RuntimeError(f"{self.name} has ended: {self.messages.read_text()}")
            return found
        return wait_for(f"{pattern} of {self.name}", look, PATIENCE_S)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Node(Process):
    """A node. prefix: what its command comes behind; host: the address that it listens on, where prefix has another network."""

    def __init__(self, directory, program, name, *flags, listen=None, memory="256MB", compaction="forced", prefix=(), host="127.0.0.1",
                 cluster="tested"):
        self.folder, self.host, self.cluster = directory / name, host, cluster
        super().__init__(directory, name, *prefix, program, "--listen", listen or f"{host}:0", "--http-listen", f"{host}:0", "--node-name", name,
                         "--partitions", 2, "--workers", 1, "--memory", memory, "--pages", "small", "--data-directory", self.folder,
                         "--compaction", compaction, "--compaction-window", "200ms",
                         "--tier-directory", directory / f"{name}-tier", "--tier-memory", "0", "--tier-cache", "1MB",
                         *flags)

    def wait(self):
        found = self.line(r"gRPC on port (\d+), http://localhost:(\d+)/metrics")
        self.address, self.http = f"{self.host}:{found.group(1)}", f"{self.host}:{found.group(2)}"


def free_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"
