"""pg_stat_activity and what ends others' statements, on a node and on PostgreSQL 15: part of postgres_tools.py."""
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import comes_true
from postgres_servers import PATIENCE_S, expect

# Runs until it is cancelled. On a node a query on a snapshot, as nearly all are that take long.
LONG = "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 100000) b(y) WHERE a.x * b.y % 7 = 3"
COLUMNS = "SELECT * FROM pg_stat_activity LIMIT 0"
OTHER = "SELECT {} FROM pg_stat_activity WHERE application_name = 'other'"


class Psql:
    """A session that is told statements one by one."""

    def __init__(self, server, name):
        self.process = subprocess.Popen(["psql", "-X", "-At", "-v", "VERBOSITY=verbose", f"{server.conninfo} application_name={name}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def say(self, text):
        self.process.stdin.write(text + ";\n")
        self.process.stdin.flush()

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, text):
        self.say(text)
        return self.line()

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.process.wait(timeout=PATIENCE_S)
        return rest


def without_location(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith("LOCATION"))


def story(server):
    """What both have to say, in order."""
    told = []
    head = subprocess.run(["psql", "-X", "-A", "-c", COLUMNS, server.conninfo], text=True, capture_output=True, timeout=PATIENCE_S, check=False)
    told.append(("columns", head.stdout))
    asking, other = Psql(server, "asking"), Psql(server, "other")
    pid = other.ask("SELECT pg_backend_pid()")
    told.append(("idle", asking.ask(OTHER.format("pid = " + pid + ", usename, datname = current_database(), state, query, wait_event, xact_start IS NULL, backend_type"))))
    told.append(("oneself", asking.ask("SELECT state, query FROM pg_stat_activity WHERE pid = pg_backend_pid()")))
    other.say("BEGIN; SELECT 17")
    other.line()
    told.append(("answer", other.line()))
    comes_true("in transaction", lambda: asking.ask(OTHER.format("state")) == "idle in transaction", PATIENCE_S)
    told.append(("in a block", asking.ask(OTHER.format("state, query, xact_start <= query_start"))))
    other.say("ROLLBACK")
    other.line()
    other.say(LONG)
    runs = comes_true("runs", lambda: asking.ask(OTHER.format("state, query")) == f"active|{LONG};", PATIENCE_S)
    told.append(("active", runs, asking.ask(OTHER.format("query_start <= now(), backend_start <= query_start, wait_event IS NULL"))))
    time.sleep(0.2)  # that it really runs: cancelled before its first row it is, too
    told.append(("cancelled", asking.ask(f"SELECT pg_cancel_backend({pid})"), other.line()))
    other.line()  # LOCATION
    told.append(("goes on", other.ask("SELECT 18")))
    told.append(("nobody", asking.ask("SELECT pg_cancel_backend(2000000000)"), asking.line()))
    told.append(("nobody terminates", asking.line(), asking.ask("SELECT pg_terminate_backend(2000000000)"), asking.line()))
    asking.line()
    other.say(LONG)
    comes_true("runs again", lambda: asking.ask(OTHER.format("state")) == "active", PATIENCE_S)
    told.append(("terminated", asking.ask(f"SELECT pg_terminate_backend({pid})")))
    gone = comes_true("gone", lambda: asking.ask(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}") == "0", PATIENCE_S)
    told.append(("gone", gone))
    other.process.kill()
    other.process.wait()
    told.append(("NULL", asking.ask("SELECT pg_cancel_backend(NULL) IS NULL")))
    asking.end()
    return [(name, *(without_location(part) if isinstance(part, str) else part for part in parts)) for name, *parts in told]


def check_activity(node, postgres):
    found, wanted = story(node), story(postgres)
    for one, other in zip(found, wanted):
        expect(f"activity: {one[0]}", one == other, f"\nhere       {one}\nPostgreSQL {other}")
