#!/usr/bin/env python3
"""What sessions wait for, who sees it and what ends it: advisory locks, modes and settings of transactions as PostgreSQL has them, and statements of a
node that wait for a block that runs alone.

Usage: postgres_waits.py SCYPERD
Each check says what it found; the exit code counts the failures.
"""
import pathlib
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from postgres_servers import CHECKS, PATIENCE_S, Node, Postgres, expect, optional
from checks import comes_true

psycopg = optional("psycopg")


class Session:
    """A connection whose statements say their rows, or SQLSTATE and message."""

    def __init__(self, server):
        self.connection = psycopg.connect(server.conninfo, autocommit=True)
        self.pid = self.connection.info.backend_pid
        self.told = None
        self.thread = None

    def ask(self, *texts):
        found = None
        for text in texts:
            try:
                cursor = self.connection.execute(text)
                found = cursor.fetchall() if cursor.description is not None else cursor.statusmessage
            except psycopg.Error as error:
                found = (error.sqlstate, error.diag.message_primary)
        return found

    def begin(self, *texts):
        """In a thread of its own: the last answer is that of end()."""

        def run():
            self.told = self.ask(*texts)

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def end(self):
        self.thread.join(PATIENCE_S)
        return "it still waits" if self.thread.is_alive() else self.told

    def close(self):
        self.connection.close()


def waits(asking, session, event):
    """Whether the session comes to wait for that."""
    text = f"SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity WHERE pid = {session.pid} AND state = 'active'"
    return comes_true(event, lambda: asking.ask(text) == [(event,)], PATIENCE_S)


def locks_of(asking, sessions, others=""):
    """Advisory ones and those that are waited for, without what only one system has."""
    numbers = {session.pid: name for name, session in sessions.items()}
    rows = asking.ask("SELECT pid, locktype, mode, granted, classid::bigint, objid::bigint, objsubid FROM pg_locks WHERE locktype = 'advisory' "
                      f"AND pid IN ({', '.join(str(number) for number in numbers)}) {others}")
    return sorted((numbers[row[0]], *row[1:]) for row in rows)


def advisory_locks(server):
    told = []
    one, other, asking = Session(server), Session(server), Session(server)
    names = {"one": one, "other": other}
    told.append(("taken", one.ask("SELECT pg_advisory_lock(7)"), one.ask("SELECT pg_advisory_lock_shared(1, -2)")))
    told.append(("held", other.ask("SELECT pg_try_advisory_lock(7)"), other.ask("SELECT pg_try_advisory_lock_shared(1, -2)")))
    other.begin("SELECT 1 FROM pg_advisory_lock(7)")
    told.append(("waits", waits(asking, other, "Lock advisory"), locks_of(asking, names)))
    told.append(("whom for", asking.ask(f"SELECT pg_blocking_pids({other.pid}) = ARRAY[{one.pid}], pg_blocking_pids({one.pid}), pg_blocking_pids(NULL)")))
    told.append(("released", one.ask("SELECT pg_advisory_unlock(7)"), other.end(), locks_of(asking, names)))
    told.append(("not its own", one.ask("SELECT pg_advisory_unlock(7)"), one.ask("SELECT pg_advisory_unlock_all()")))
    one.begin("SET lock_timeout = '100ms'", "SELECT pg_advisory_lock(7)")
    told.append(("lock_timeout", one.end(), one.ask("RESET lock_timeout")))
    one.begin("SET statement_timeout = '100ms'", "SELECT pg_advisory_lock(7)")
    told.append(("statement_timeout", one.end(), one.ask("RESET statement_timeout")))
    one.begin("SELECT pg_advisory_lock(7)")
    told.append(("waits", waits(asking, one, "Lock advisory"), asking.ask(f"SELECT pg_cancel_backend({one.pid})"), one.end()))
    told.append(("shared beside shared", other.ask("SELECT pg_advisory_unlock_all()"), one.ask("SELECT pg_advisory_lock_shared(7)"), other.ask("SELECT pg_advisory_lock_shared(7)")))
    told.append(("oneself", one.ask("SELECT pg_cancel_backend(pg_backend_pid())"), one.ask("SELECT 5")))
    for session in (one, other, asking):
        session.close()
    return told


def transaction_locks(server):
    told = []
    one, other, asking = Session(server), Session(server), Session(server)
    told.append(("in a block", one.ask("BEGIN", "SELECT pg_advisory_xact_lock(1)", "SAVEPOINT s", "SELECT pg_advisory_xact_lock(2)")))
    told.append(("of others", other.ask("SELECT pg_try_advisory_lock(1), pg_try_advisory_lock(2), pg_try_advisory_xact_lock(3)")))
    told.append(("of a statement", other.ask("SELECT pg_try_advisory_xact_lock(3)"), one.ask("SELECT pg_try_advisory_xact_lock(3)")))
    told.append(("not unlocked by hand", one.ask("SELECT pg_advisory_unlock(1)")))
    told.append(("back to the savepoint", one.ask("ROLLBACK TO s"), other.ask("SELECT pg_try_advisory_lock(1), pg_try_advisory_lock(2)")))
    other.begin("SELECT pg_advisory_lock(1)")
    told.append(("waits", waits(asking, other, "Lock advisory"), one.ask("COMMIT"), other.end()))
    other.ask("SELECT pg_advisory_unlock_all()")
    one.ask("BEGIN", "SELECT pg_advisory_xact_lock(1)")
    other.begin("SELECT pg_advisory_lock(1)")
    told.append(("an error ends the block's", waits(asking, other, "Lock advisory"), one.ask("SELECT 1 / 0"), other.end(), one.ask("ROLLBACK")))
    other.ask("SELECT pg_advisory_unlock_all()")
    asking.ask("CREATE FUNCTION guarded() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(5); RETURN 5; END $$")
    one.ask("BEGIN", "SELECT pg_advisory_xact_lock(5)")
    other.begin("SELECT guarded()")
    time.sleep(0.2)
    told.append(("a function waits", other.thread.is_alive(), one.ask("COMMIT"), other.end(), one.ask("SELECT pg_try_advisory_lock(5)")))
    told.append(("dropped", asking.ask("DROP FUNCTION guarded")))
    for session in (one, other, asking):
        session.close()
    return told


def circles(server):
    """One of the two is ended; which one, only PostgreSQL's clock knows."""
    told = []
    one, other, asking = Session(server), Session(server), Session(server)
    asking.ask("CREATE TABLE circle (id integer PRIMARY KEY, n integer)", "INSERT INTO circle VALUES (1, 0)")
    one.ask("SELECT pg_advisory_lock(1)")
    other.ask("SELECT pg_advisory_lock(2)")
    one.begin("SELECT pg_advisory_lock(2)")
    waits(asking, one, "Lock advisory")
    other.begin("SELECT pg_advisory_lock(1)")
    comes_true("ends", lambda: one.told is not None or other.told is not None, PATIENCE_S)
    one.ask("SELECT pg_advisory_unlock_all()") if not one.thread.is_alive() else other.ask("SELECT pg_advisory_unlock_all()")
    told.append(("advisory locks", sorted(str(session.end()) for session in (one, other))))
    one.ask("SELECT pg_advisory_unlock_all()")
    other.ask("SELECT pg_advisory_unlock_all()", "BEGIN", "UPDATE circle SET n = 1")
    one.ask("BEGIN", "SELECT pg_advisory_xact_lock(3)")
    one.begin("UPDATE circle SET n = 2")
    waits(asking, one, "Lock transactionid")
    other.told = None
    other.begin("SELECT 1 FROM pg_advisory_xact_lock(3)", "ROLLBACK")
    told.append(("a lock and a row", other.end(), asking.ask(f"SELECT count(*) FROM pg_locks WHERE pid = {one.pid} AND NOT granted")[0][0] in (0, 1)))
    one.end()
    one.ask("ROLLBACK")
    asking.ask("DROP TABLE circle")
    for session in (one, other, asking):
        session.close()
    return told


def modes(server):
    """SET TRANSACTION after the first query, settings of the transaction, roles of the transaction."""
    session = Session(server)
    session.ask("CREATE ROLE waits_role", "CREATE TABLE modes (id integer)")
    told = []
    for texts in (
            ["BEGIN", "SELECT 1", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
            ["BEGIN", "SELECT 1", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"],
            ["BEGIN", "SET LOCAL statement_timeout = 0", "SHOW TimeZone", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
            ["BEGIN", "SAVEPOINT s", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
            ["BEGIN", "INSERT INTO modes VALUES (1)", "SET transaction_isolation = 'repeatable read'"],
            ["BEGIN", "SELECT 1", "SET TRANSACTION READ ONLY", "SHOW transaction_read_only"],
            ["BEGIN READ ONLY", "SELECT 1", "SET TRANSACTION READ WRITE"],
            ["BEGIN READ ONLY", "SET TRANSACTION READ WRITE", "SHOW transaction_read_only"],
            ["BEGIN READ ONLY", "SAVEPOINT s", "SET TRANSACTION READ WRITE"],
            ["BEGIN", "SELECT 1", "SET TRANSACTION DEFERRABLE"],
            ["BEGIN", "SAVEPOINT s", "SET TRANSACTION DEFERRABLE"],
            ["BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE", "SHOW transaction_deferrable"],
            ["BEGIN", "SET TRANSACTION NOT DEFERRABLE", "SHOW transaction_deferrable"],
            ["BEGIN", "SELECT set_config('transaction_isolation', 'serializable', true)"],
            ["BEGIN", "SELECT set_config('app.a', 'x', true)", "SELECT current_setting('app.a')"],
            ["BEGIN", "SELECT set_config('app.b', 'x', true)", "COMMIT", "SELECT current_setting('app.b')"],
            ["SELECT set_config('app.c', 'x', false)", "BEGIN", "SELECT set_config('app.c', 'y', true)", "COMMIT", "SHOW app.c"],
            ["BEGIN", "SELECT set_config('app.c', 'z', true)", "SELECT set_config('app.c', 'w', false)", "COMMIT", "SHOW app.c"],
            ["BEGIN", "SELECT set_config('statement_timeout', '7s', true)", "SHOW statement_timeout"],
            ["BEGIN", "SELECT set_config('statement_timeout', '7s', true)", "ROLLBACK", "SHOW statement_timeout"],
            ["SELECT set_config('statement_timeout', '7s', true)", "SHOW statement_timeout"],
            ["BEGIN", "INSERT INTO modes VALUES (1)", "SELECT set_config('work_mem', '3MB', true)", "SHOW work_mem"],
            ["BEGIN", "SAVEPOINT s", "SELECT set_config('app.c', 'inner', true)", "ROLLBACK TO s", "SHOW app.c"],
            ["BEGIN", "SET LOCAL ROLE waits_role", "SELECT current_user"],
            ["BEGIN", "SET LOCAL ROLE waits_role", "COMMIT", "SELECT current_user = session_user"],
            ["BEGIN", "SET LOCAL ROLE waits_role", "SELECT * FROM modes"],
            ["BEGIN", "SET LOCAL ROLE waits_role", "RESET ROLE", "SELECT current_user = session_user"],
            ["BEGIN", "SAVEPOINT s", "SET LOCAL ROLE waits_role", "ROLLBACK TO s", "SELECT current_user = session_user"],
            ["SET search_path = public, pg_temp", "CREATE TEMPORARY TABLE modes AS SELECT 5 AS id", "SELECT count(*) FROM modes", "SHOW search_path"],
            ["SELECT array_replace(current_schemas(true), pg_my_temp_schema()::regnamespace::text::name, 'temp')"] if server.name == "postgres" else
            ["SELECT array_agg(CASE WHEN s LIKE 'pg_temp_%' THEN 'temp' ELSE s END) FROM unnest(current_schemas(true)) s"],
            ["SELECT current_schema()"],
            ["SET search_path = public", "SELECT id FROM modes"],
            ["SELECT array_agg(CASE WHEN s LIKE 'pg_temp_%' THEN 'temp' ELSE s END) FROM unnest(current_schemas(true)) s"],
            ["SELECT current_schemas(false)"],
            ["SET search_path = pg_temp, public", "SHOW search_path"],
            ["RESET search_path", "CREATE VIEW waits_view AS SELECT * FROM pg_prepared_xacts", "SELECT count(*) FROM waits_view", "DROP VIEW waits_view"],
            ["CREATE VIEW waits_view AS SELECT pid, mode FROM pg_locks WHERE NOT granted", "SELECT count(*) FROM waits_view", "DROP VIEW waits_view"],
            ["RESET search_path", "DROP TABLE modes", "SELECT count(*) FROM modes"],
    ):
        told.append((" ; ".join(text for text in texts if "array_replace" not in text), session.ask(*texts), session.ask("ROLLBACK")))
    session.ask("DROP TABLE modes", "DROP ROLE waits_role")
    session.close()
    return told


def compare(node, postgres):
    for part in (advisory_locks, transaction_locks, circles, modes):
        for found, wanted in zip(part(node), part(postgres)):
            expect(f"{part.__name__}: {wanted[0]}", found[1:] == wanted[1:], f"\nhere       {found}\nPostgreSQL {wanted}")


def behind_a_block(node):
    """A block that runs alone stops all others. What waits for it can be ended, and what is about sessions does not wait."""
    alone, waiting, asking = Session(node), Session(node), Session(node)
    asking.ask("CREATE TABLE queued (id integer PRIMARY KEY, n integer)", "INSERT INTO queued VALUES (1, 0)")
    statements = {
        "a change": ["UPDATE queued SET n = n + 1"],
        "a point read": ["SELECT n FROM queued WHERE id = 1"],
        "a definition": ["CREATE TABLE other (id integer)"],
        "a call": ["DO $$ BEGIN UPDATE queued SET n = n + 1; END $$"],
        "a block's statement": ["BEGIN", "UPDATE queued SET n = n + 1 WHERE id = 1"],
        "a block that would run alone, too": ["BEGIN", "CREATE TABLE other (id integer)"],
    }
    for name, texts in statements.items():
        for how, change in (("statement_timeout", "SET statement_timeout = '150ms'"), ("cancel", "RESET statement_timeout")):
            alone.ask("BEGIN", "CREATE TABLE held (id integer)")
            waiting.begin(change, *texts)
            if how == "cancel":
                is_shown = waits(asking, waiting, "Lock transactionid")
                expect(f"{name} that waits is shown, and for whom", is_shown and asking.ask(f"SELECT pg_blocking_pids({waiting.pid})") == [([alone.pid],)],
                       asking.ask(f"SELECT wait_event, query FROM pg_stat_activity WHERE pid = {waiting.pid}"))
                expect(f"{name}: pg_cancel_backend() does not wait", asking.ask(f"SELECT pg_cancel_backend({waiting.pid})") == [(True,)])
            found = waiting.end()
            expect(f"{name} that waits is ended by {how}", found[0] == "57014", found)
            alone.ask("ROLLBACK")
            waiting.ask("ROLLBACK")
    alone.ask("BEGIN", "CREATE TABLE held (id integer)")
    told = asking.ask("SELECT pg_advisory_lock(1)", "SELECT pg_advisory_unlock(1)"), asking.ask("SELECT pg_backend_pid()"), asking.ask("SELECT set_config('app.x', 'y', false)")
    expect("locks and settings do not wait", told == ([(True,)], [(asking.pid,)], [("y",)]), told)
    waiting.ask("RESET statement_timeout")
    waiting.begin("UPDATE queued SET n = n + 1")
    waits(asking, waiting, "Lock transactionid")
    told = asking.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {alone.pid}")
    expect("the block that others wait for is ended from a query of pg_stat_activity", told == [(True,)] and waiting.end() == "UPDATE 1", (told, waiting.told))
    expect("nothing that was ended has left a trace", asking.ask("SELECT n FROM queued") == [(1,)], asking.ask("SELECT n FROM queued"))
    waiting.ask("BEGIN", "UPDATE queued SET n = 9")
    blocked = Session(node)
    alone = Session(node)
    alone.ask("BEGIN", "CREATE TABLE held (id integer)")
    blocked.begin("SELECT 1")
    waiting.begin("SET LOCAL statement_timeout = '150ms'", "COMMIT")
    expect("a COMMIT that waits is ended, and its block taken back", waiting.end()[0] == "57014", waiting.told)
    alone.ask("ROLLBACK")
    blocked.end()
    expect("it has left no trace", asking.ask("SELECT n FROM queued") == [(1,)] and waiting.ask("SELECT 2") == [(2,)], asking.ask("SELECT n FROM queued"))
    for session in (waiting, asking, blocked, alone):
        session.close()


def over_the_limit(program):
    node = Node(program, "--transaction-time-max", "300ms")
    session = Session(node)
    session.ask("BEGIN", "CREATE TABLE t (id integer)")
    time.sleep(0.6)
    try:
        session.connection.execute("SELECT 1 FROM t")
        found = None
    except psycopg.Error as error:
        found = error
    told = f"{found.sqlstate} {found.diag.message_primary} {found.diag.message_hint}" if found is not None else "no error"
    expect("a block that is idle for too long is told the setting", told.startswith("25P03") and "transaction_time_max" in told and "Raise" in told, told)
    session.ask("ROLLBACK")
    try:
        session.connection.execute("DO $$ BEGIN LOOP NULL; END LOOP; END $$")
        found = None
    except psycopg.Error as error:
        found = error
    told = f"{found.sqlstate} {found.diag.message_primary} {found.diag.message_hint}" if found is not None else "no error"
    expect("a statement that runs for too long is told it as well", told.startswith("57014") and "transaction_time_max" in told and "Raise" in told, told)
    session.close()
    expect("the node with a short limit stops as it should", node.stop() == 0)


def main():
    if psycopg is None:
        return 0
    with tempfile.TemporaryDirectory(prefix="scyper-waits-") as directory:
        postgres = Postgres(directory)
        node = Node(sys.argv[1], "--transaction-time-max", "1h")  # no block that runs alone ends by itself
        try:
            compare(node, postgres)
            behind_a_block(node)
        finally:
            postgres.stop()
        expect("the node stops as it should", node.stop() == 0)
    over_the_limit(sys.argv[1])
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
