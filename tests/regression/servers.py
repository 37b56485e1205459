"""The servers that regression files run on."""

import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE_S = 120


class Node:
    """A node with 4 partitions; with `directory` it keeps its data there."""

    def __init__(self, program, log, directory=None, flags=()):
        self.program, self.log, self.directory, self.flags = program, log, directory, flags
        self.start()

    def start(self):
        durable = ["--data-directory", str(self.directory)] if self.directory else []
        self.process = subprocess.Popen([self.program, "--listen", "127.0.0.1:0", "--http-listen", "", "--postgres-listen", "127.0.0.1:0", "--memory", "1GB", "--partitions", "4",
                                         *durable, *self.flags], stdout=subprocess.PIPE, stderr=open(self.log, "a"), text=True)
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if "PostgreSQL clients on port" in line:
                break
        found = re.search(r"PostgreSQL clients on port (\d+)", "".join(lines))
        if not found:
            self.process.wait(timeout=PATIENCE_S)
            raise RuntimeError(pathlib.Path(self.log).read_text(errors="replace")[-2000:] or "the node did not start")
        self.connection = f"host=127.0.0.1 port={found[1]} user=scyper dbname=scyper"
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=PATIENCE_S)

    def stop(self):
        if self.alive():
            self.process.kill()
        self.process.wait(timeout=PATIENCE_S)


class Postgres:
    """A throwaway PostgreSQL; each file gets a copy of the database that test_setup.sql has filled."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="regression-pg-")
        subprocess.run([ROOT / "tools/postgres-server", "start", self.directory], check=True, stdout=subprocess.DEVNULL)

    def connection(self, database):
        return f"host={self.directory} user=postgres dbname={database}"

    def execute(self, sql):
        subprocess.run(["psql", "-X", "-q", self.connection("postgres"), "-c", sql], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def copy(self, name):
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        for _ in range(100):
            try:
                return self.execute(f"CREATE DATABASE {name} TEMPLATE filled")
            except subprocess.CalledProcessError:
                time.sleep(0.1)  # somebody is still connected to the template
        raise RuntimeError("no copy of the filled database")

    def drop(self, name):
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def stop(self):
        subprocess.run([ROOT / "tools/postgres-server", "stop", self.directory], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(self.directory, ignore_errors=True)
