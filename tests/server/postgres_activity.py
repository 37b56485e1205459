"""pg_stat_activity and what ends others' statements, on a node and on PostgreSQL 15: part of postgres_tools.py."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import comes_true
from postgres_servers import PATIENCE_S, expect

# Runs until it is cancelled. On a node a query on a snapshot, as nearly all are that take long.
LONG = "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 100000) b(y) WHERE a.x * b.y % 7 = 3"
END = "-- end --"
COLUMNS = "SELECT * FROM pg_stat_activity LIMIT 0"
OTHER = "SELECT {} FROM pg_stat_activity WHERE application_name = 'other'"


class Psql:
    """A session that is told statements one by one."""

    def __init__(self, server, name, more=""):
        self.process = subprocess.Popen(["psql", "-X", "-At", "-v", "VERBOSITY=verbose", f"{server.conninfo} application_name={name} {more}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def say(self, text):
        self.process.stdin.write(f"{text};\n\\echo {END}\n")
        self.process.stdin.flush()

    def answer(self):
        """What came for one say(), without places in PostgreSQL's sources."""
        lines = []
        for line in self.process.stdout:
            if line.rstrip("\n") == END:
                return "\n".join(lines)
            if not line.startswith("LOCATION"):
                lines.append(line.rstrip("\n"))
        return "\n".join([*lines, "(the connection has ended)"])

    def ask(self, text):
        self.say(text)
        return self.answer()


def story(server):
    """What both have to say, in order."""
    told = []
    head = subprocess.run(["psql", "-X", "-A", "-c", COLUMNS, server.conninfo], text=True, capture_output=True, timeout=PATIENCE_S, check=False)
    told.append(("columns", head.stdout))
    asking, other = Psql(server, "asking"), Psql(server, "other")
    pid = other.ask("SELECT pg_backend_pid()")
    told.append(("idle", asking.ask(OTHER.format("pid = " + pid + ", usename, datname = current_database(), state, rtrim(query, ';'), wait_event, xact_start IS NULL, backend_type"))))
    told.append(("oneself", asking.ask("SELECT state, rtrim(query, ';') FROM pg_stat_activity WHERE pid = pg_backend_pid()")))
    told.append(("others", asking.ask("SELECT application_name FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")))
    told.append(("answer", other.ask("BEGIN; SELECT 17")))
    told.append(("in a block", asking.ask(OTHER.format("state, rtrim(query, ';'), xact_start <= query_start"))))
    other.ask("ROLLBACK")
    other.say(LONG)
    runs = comes_true("runs", lambda: asking.ask(OTHER.format("state, rtrim(query, ';')")) == f"active|{LONG}", PATIENCE_S)
    told.append(("active", runs, asking.ask(OTHER.format("query_start <= now(), backend_start <= query_start, wait_event IS NULL"))))
    told.append(("cancelled", asking.ask(f"SELECT pg_cancel_backend({pid})"), other.answer()))
    told.append(("goes on", other.ask("SELECT 18")))
    told.append(("nobody", asking.ask("SELECT pg_cancel_backend(2000000000)"), asking.ask("SELECT pg_terminate_backend(2000000000)")))
    other.say(LONG)
    comes_true("runs again", lambda: asking.ask(OTHER.format("state")) == "active", PATIENCE_S)
    told.append(("terminated", asking.ask(f"SELECT pg_terminate_backend({pid})")))
    told.append(("gone", comes_true("gone", lambda: asking.ask(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}") == "0", PATIENCE_S)))
    told.append(("NULL", asking.ask("SELECT pg_cancel_backend(NULL) IS NULL")))
    for session in (asking, other):
        session.process.kill()
        session.process.wait()
    return told


def rights(server):
    """Who may signal whom: roles and memberships at the time of the call count, and those of current_user."""
    told = []
    asking = Psql(server, "asking")
    asking.ask("CREATE ROLE signal_asker LOGIN; CREATE ROLE signal_group; CREATE ROLE signal_target LOGIN")
    other = Psql(server, "other", "user=signal_target")
    pid = other.ask("SELECT pg_backend_pid()")
    calls = [f"SELECT {function}({pid})" for function in ("pg_cancel_backend", "pg_terminate_backend")]

    def as_asker(name, change=""):
        """By the role, behind what a superuser changes while both sessions are open."""
        changed = asking.ask(f"RESET ROLE; {change}; SET ROLE signal_asker")
        told.append((name, changed, *(asking.ask(call) for call in (calls if name != "member" else calls[:1]))))

    as_asker("stranger")
    as_asker("member without rights", "ALTER ROLE signal_asker NOINHERIT; GRANT signal_target TO signal_asker")
    as_asker("superuser", "ALTER ROLE signal_asker INHERIT; ALTER ROLE signal_target SUPERUSER")
    as_asker("member", "ALTER ROLE signal_target NOSUPERUSER; REVOKE signal_target FROM signal_asker; GRANT signal_target TO signal_group; GRANT signal_group TO signal_asker")
    as_asker("no member", "REVOKE signal_target FROM signal_group")
    told.append(("own", other.ask("SELECT pg_cancel_backend(0) IS NULL"), asking.ask("RESET ROLE"), asking.ask(calls[1])))
    for session in (asking, other):
        session.process.kill()
        session.process.wait()
    Psql(server, "end").ask("DROP ROLE signal_asker, signal_group, signal_target")
    return told


def check_activity(node, postgres):
    found, wanted = story(node) + rights(node), story(postgres) + rights(postgres)
    for one, other in zip(found, wanted):
        expect(f"activity: {one[0]}", one == other, f"\nhere       {one}\nPostgreSQL {other}")
