"""What the tests of PostgreSQL's protocol share: a node, a throwaway PostgreSQL, checks that count their failures."""
import atexit
import pathlib
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, expect

POSTGRES_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "postgres-server"
PATIENCE_S = 120


def optional(module):
    try:
        return __import__(module)
    except ImportError as error:
        print(f"skip  {module}: {error}", flush=True)
        return None


class Node:
    """A scyperd of its own, on free ports of this machine."""

    def __init__(self, program, *flags, has_http=False):
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0" if has_http else "", "--postgres-listen", "127.0.0.1:0", "--partitions", "4",
             "--workers", "2", "--memory", "1GB", *flags], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # whatever fails before stop()
        line = next((line for line in self.process.stdout if "PostgreSQL clients on port" in line), "")  # behind what recovery says
        self.port = int(re.search(r"PostgreSQL clients on port (\d+)", line).group(1))
        self.metrics = f"http://127.0.0.1:{re.search(r'localhost:([0-9]+)/metrics', line).group(1)}/metrics" if has_http else None
        self.conninfo = f"host=127.0.0.1 port={self.port} user=postgres dbname=scyper"
        self.name = "scyper"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE_S)


class Postgres:
    """A throwaway PostgreSQL in an empty directory, which stop() removes."""

    def __init__(self, directory):
        self.directory = directory
        subprocess.run([POSTGRES_SCRIPT, "start", directory], check=True)
        self.conninfo = f"host={directory} user=postgres dbname=postgres"
        self.name = "postgres"

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        connection.connect(f"{self.directory}/.s.PGSQL.5432")
        return connection

    def stop(self):
        subprocess.run([POSTGRES_SCRIPT, "stop", self.directory], check=True)
