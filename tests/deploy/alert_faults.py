"""Faults that alerts wait for, on a node of its own which Prometheus watches as a second primary of a cluster: dashboards.py."""
import os
import pathlib
import signal
import subprocess
import threading

from checks import comes_true, expect

PATIENCE_S = 300
LONG = "SELECT count(*) FROM generate_series(1, 3000) a(x), generate_series(1, 3000) b(y) WHERE a.x * b.y % 7 = 3"
FLAGS = ["--replication", "--query-concurrency", "1", "--query-queue", "0"]


def kill_children(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            for child in (task / "children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
        except OSError:  # a thread, or the child, that has just ended
            continue


class Faults:
    def __init__(self, program, node, ask, valid):
        self.program, self.node, self.ask, self.valid = program, node, ask, valid

    def run(self, *command):
        """It may fail: whether the fault is there, the alert says."""
        subprocess.run([self.program, *command, "--target", self.node.address], capture_output=True, timeout=PATIENCE_S, check=False)

    def sql(self, *commands):
        self.run("sql", *(part for one in commands for part in ("-c", one)))

    def fires(self, alert, what, cause=lambda: None):
        def look():
            cause()
            return self.ask(self.valid[alert])
        expect(f"{alert} fires: {what}", comes_true(alert, look, PATIENCE_S), self.valid[alert])

    def refuse(self):
        """Three queries at once, of which one may run and none wait."""
        threads = [threading.Thread(target=self.sql, args=(LONG,)) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    def kill_snapshots(self):
        """Those of a node without elections and multicast are all its children."""
        query = threading.Thread(target=self.sql, args=(LONG,))
        query.start()
        while query.is_alive():
            kill_children(self.node.process.pid)
            query.join(0.1)

    def damage_archives(self):
        """A byte of each archive is another one; they are read when the next one was written."""
        for path in self.node.folder.glob("**/*"):
            if path.is_file() and "archive" in str(path.relative_to(self.node.folder)) and path.stat().st_size > 4096:
                with open(path, "r+b") as file:
                    file.seek(path.stat().st_size // 2)
                    byte = file.read(1)[0]
                    file.seek(-1, os.SEEK_CUR)
                    file.write(bytes([byte ^ 0xff]))
        self.sql("INSERT INTO filled VALUES (0, '')")
        self.run("backup")

    def fill(self):
        self.sql("INSERT INTO filled SELECT i, md5(i::text) || repeat('x', 500) FROM generate_series(1, 5000) i")

    def run_all(self):
        self.fires("ScyperTwoPrimaries", "another node says that it is primary")
        self.sql("CREATE TABLE filled (i integer, t text)")
        self.fill()
        self.fires("ScyperWorkRefused", "queries find no room", self.refuse)
        self.fires("ScyperSnapshotsLost", "processes of snapshots are killed", self.kill_snapshots)
        self.run("backup")
        self.fires("ScyperFileDamaged", "a byte of an archive has changed", self.damage_archives)
        self.fires("ScyperMemoryNearlyFull", "a table grows", self.fill)
