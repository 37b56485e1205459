#!/usr/bin/env python3
"""PostgreSQL's port of a secondary: what writes is run by the primary, and done once whatever happens on the way.

Usage: postgres_forwarding.py SCYPERD
Debian: python3-psycopg. Each check says what it found; the exit code counts the failures.
"""
import datetime
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, PATIENCE_S, expect, wait_for
from postgres_servers import optional
from relay import Relay

psycopg = optional("psycopg")


class Node:
    def __init__(self, program, directory, name, *flags):
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--http-listen", "", "--postgres-listen", "127.0.0.1:0", "--node-name", name, "--partitions", "2", "--workers",
             "1", "--memory", "512MB", "--data-directory", str(pathlib.Path(directory) / name), *flags], stdout=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stdout if "gRPC on port" in line)
        self.target = "127.0.0.1:" + re.search(r"gRPC on port (\d+)", line)[1]
        self.port = int(re.search(r"PostgreSQL clients on port (\d+)", line)[1])
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def connect(self):
        return psycopg.connect(f"host=127.0.0.1 port={self.port} user=postgres dbname=scyper", autocommit=True)

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=PATIENCE_S)


def raises(what, state, run):
    try:
        found = run()
    except psycopg.Error as error:
        expect(what, error.sqlstate == state, f"{error.sqlstate} {error}")
        return error
    expect(what, False, f"no error but {found!r}")
    return psycopg.Error()


def check_statements(connection):
    run = connection.execute
    expect("a definition", run("CREATE TABLE t (id integer PRIMARY KEY, n integer, u uuid, b bytea, j jsonb, z timestamptz, a integer[])").statusmessage == "CREATE TABLE")
    moment, name = datetime.datetime(2026, 2, 28, tzinfo=datetime.timezone.utc), uuid.UUID(int=7)
    values = (1, 0, name, b"\0\xff", '{"a": 1}', moment, [1, None])
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        row = cursor.execute("INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING n, u, b, j, z, a, id", (int(binary), *values[1:])).fetchone()
        expect(f"rows of all types, {'binary' if binary else 'text'}", row == (0, name, b"\0\xff", {"a": 1}, moment, [1, None], int(binary)), row)
    expect("a fresh query sees it at once", run("SELECT count(*) FROM t").fetchone() == (2,))
    expect("how many rows", run("UPDATE t SET n = n + %s", (0,)).rowcount == 2)
    expect("a change in WITH", run("WITH x AS (INSERT INTO t (id) VALUES (7) RETURNING id) SELECT id FROM x").fetchone() == (7,))
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    run("CREATE PROCEDURE bump(p_id integer, INOUT p_n integer) AS $$ BEGIN UPDATE t SET n = n + p_n WHERE id = p_id RETURNING n INTO p_n; "
        "RAISE NOTICE 'now %', p_n; END $$ LANGUAGE plpgsql")
    expect("CALL", run("CALL bump(%s, %s)", (1, 5)).fetchone() == (5,) and notices == ["now 5"], notices)
    run("CREATE FUNCTION sly() RETURNS integer AS $$ BEGIN UPDATE t SET n = 9 WHERE id = 0; RETURN 1; END $$ LANGUAGE plpgsql")
    expect("a function that writes", run("SELECT sly()").fetchone() == (1,) and run("SELECT n FROM t WHERE id = 0").fetchone() == (9,))
    run("PREPARE up(integer) AS UPDATE t SET n = $1 WHERE id = 0 RETURNING n")
    expect("EXECUTE", run("EXECUTE up(11)").fetchone() == (11,))
    run("SET TimeZone = 'Asia/Tokyo'")
    expect("the session's zone", run("UPDATE t SET n = 1 WHERE id = 1 RETURNING z::text").fetchone() == ("2026-02-28 09:00:00+09",))
    run("RESET TimeZone")
    expect("its settings", run("SELECT set_config('app.tenant', 'x', false)").fetchone() == ("x",) and run("SHOW app.tenant").fetchone() == ("x",) and
           run("SELECT current_setting('app.tenant')").fetchone() == ("x",))


def check_errors(connection):
    run = connection.execute
    error = raises("a duplicate key", "23505", lambda: run("INSERT INTO t (id) VALUES (%s)", (1,)))
    expect("its detail", error.diag.message_detail == "Key (id)=(1) already exists.", error.diag.message_detail)
    error = raises("a syntax error", "42601", lambda: run("INSERT INTO t VALUES )"))
    expect("its position", error.diag.statement_position == "22", error.diag.statement_position)
    error = raises("a column that is not there", "42703", lambda: run("UPDATE t SET nope = %s", (1,)))
    raises("a read-only session", "25006", lambda: run("SET default_transaction_read_only = on") and run("DELETE FROM t"))
    run("RESET default_transaction_read_only")
    run("BEGIN READ ONLY")
    raises("writing in a block that only reads", "25006", lambda: run("DELETE FROM t"))
    run("ROLLBACK")
    raises("several statements in one message are a block", "23505", lambda: run("INSERT INTO t (id) VALUES (20); INSERT INTO t (id) VALUES (20)"))
    expect("nothing of them is there", run("SELECT count(*) FROM t WHERE id >= 20").fetchone() == (0,))
    run("SET statement_timeout = 200")
    raises("a time that is over", "57014", lambda: run("DO $$ BEGIN LOOP NULL; END LOOP; END $$"))
    run("RESET statement_timeout")
    timer = threading.Timer(0.3, connection.cancel)
    timer.start()
    raises("a cancel", "57014", lambda: run("DO $$ BEGIN LOOP NULL; END LOOP; END $$"))
    timer.join()
    expect("the session goes on", run("INSERT INTO t (id) VALUES (99)").rowcount == 1)


def copy(connection, rows, form="text", types=()):
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY t (id, z) FROM STDIN (FORMAT {form})") as copying:
            if types:
                copying.set_types(types)
            for row in rows:
                copying.write_row(row)
        return cursor.rowcount


def given_up():
    yield (40000, None)
    raise InterruptedError("enough")


def check_copy(connection):
    run = connection.execute
    run("SET TimeZone = 'Asia/Tokyo'")
    expect("COPY", copy(connection, ((i, "2026-02-28 09:00:00") for i in range(1000, 21000))) == 20000)
    run("RESET TimeZone")
    expect("its rows, by the session's zone", run("SELECT count(*), min(z) = '2026-02-28 00:00:00+00' AND max(z) = min(z) FROM t WHERE id >= 1000").fetchone() == (20000, True))
    moment = datetime.datetime(2026, 2, 28, tzinfo=datetime.timezone.utc)
    expect("COPY in binary format", copy(connection, [(30000, moment), (30001, None)], "binary", ["int4", "timestamptz"]) == 2 and
           run("SELECT z FROM t WHERE id >= 30000 ORDER BY id").fetchall() == [(moment,), (None,)])
    error = raises("a row that is there", "23505", lambda: copy(connection, [(40000, None), (1, None)]))
    expect("its line", "line 2" in (error.diag.context or ""), error.diag.context)
    raises("a value that is none", "22007", lambda: copy(connection, [(40000, None), (40001, "x")]))
    raises("a table that is not there", "42P01", lambda: connection.cursor().copy("COPY nothing FROM STDIN").__enter__())
    try:
        copy(connection, given_up())  # psycopg says CopyFail
    except (InterruptedError, psycopg.errors.QueryCanceled):
        pass
    expect("nothing of them is there", run("SELECT count(*) FROM t WHERE id >= 40000").fetchone() == (0,))
    run("DELETE FROM t WHERE id >= 1000")


COUNT = "SELECT count(*) FROM b"


def check_blocks(connection, primary):
    """Blocks that write run on the primary, from their first change on."""
    run = connection.execute
    run("CREATE TABLE b (id integer PRIMARY KEY, n integer, z timestamptz)")
    # Parse looks at the secondary's own catalog, and does not wait for it
    wait_for("the secondary has the table", lambda: error_of(lambda: run(COUNT)) is None)
    with primary.connect() as there:
        run("BEGIN")
        expect("a read before", run(COUNT).fetchone() == (0,))
        expect("a change in a block", run("INSERT INTO b VALUES (%s, %s, now()), (2, 20, now())", (1, 10)).rowcount == 2)
        expect("the block sees it", run("SELECT sum(n) FROM b WHERE id <= %s", (2,)).fetchone() == (30,))
        expect("others do not", there.execute(COUNT).fetchone() == (0,))
        expect("now() is one", run("SELECT count(DISTINCT z), bool_and(z = now()) FROM b").fetchone() == (1, True))
        expect("COMMIT", run("COMMIT").statusmessage == "COMMIT")
        expect("others see it", there.execute(COUNT).fetchone() == (2,))
        expect("so does a fresh query here", run(COUNT).fetchone() == (2,))
        run("BEGIN")
        run("DELETE FROM b")
        run("ROLLBACK")
        expect("ROLLBACK", run(COUNT).fetchone() == (2,))
        check_savepoints(run)
        expect("several statements in one message", run("INSERT INTO b VALUES (3, 30); INSERT INTO b VALUES (4, 40)").statusmessage == "INSERT 0 1" and
               run(COUNT).fetchone() == (4,))
        check_isolation(run, there)
        check_waits(run, there)
        check_settings(connection, there)
        check_block_copy(connection)
    with connection.transaction():  # psycopg's
        connection.cursor().executemany("INSERT INTO b VALUES (%s, %s)", [(i, i) for i in range(100, 150)])
    expect("a pipeline in a block", run("SELECT count(*) FROM b WHERE id >= 100").fetchone() == (50,))


def check_savepoints(run):
    run("BEGIN")
    run("SAVEPOINT before")
    run("INSERT INTO b VALUES (50, 50)")
    run("SAVEPOINT s")
    raises("an error in a block", "23505", lambda: run("INSERT INTO b VALUES (1, 1)"))
    raises("then nothing is taken", "25P02", lambda: run("SELECT 1"))
    run("ROLLBACK TO s")
    run("INSERT INTO b VALUES (51, 51)")
    run("RELEASE s")
    expect("ROLLBACK TO forgives it", run("SELECT count(*) FROM b WHERE id >= 50").fetchone() == (2,))
    run("ROLLBACK TO before")
    expect("a savepoint before the first change", run("SELECT count(*) FROM b WHERE id >= 50").fetchone() == (0,))
    run("SELECT set_config('app.tenant', 'block', false)")
    expect("set_config() in a block", run("SELECT current_setting('app.tenant')").fetchone() == ("block",))
    run("DECLARE c CURSOR FOR SELECT id FROM b ORDER BY id")
    expect("a cursor in it", run("FETCH 2 FROM c").fetchall() == [(1,), (2,)])
    raises("an error at its end", "22012", lambda: run("SELECT 1 / 0"))
    expect("a failed block is taken back", run("COMMIT").statusmessage == "ROLLBACK")


def check_new_definitions(connection):
    """The next statement knows what the session has just defined, also where its text is prepared first."""
    found = []
    for _ in range(15):
        row = []
        connection.execute("CREATE TABLE fresh (a integer)")
        row.append(connection.execute("SELECT * FROM fresh").fetchall())
        connection.execute("INSERT INTO fresh VALUES (1)")
        connection.execute("ALTER TABLE fresh ADD b integer DEFAULT 4")
        row.append(connection.execute("SELECT b FROM fresh WHERE a = %s", (1,)).fetchone())
        connection.execute("ALTER TABLE fresh RENAME b TO c")
        row.append(connection.execute("SELECT c FROM fresh", prepare=True).fetchone())
        connection.execute("CREATE FUNCTION fresh_f() RETURNS integer LANGUAGE sql STABLE AS 'SELECT 7'")
        row.append(connection.execute("SELECT fresh_f() FROM fresh", prepare=True).fetchone())
        connection.execute("CREATE SEQUENCE fresh_s")
        row.append(connection.execute("SELECT nextval('fresh_s')").fetchone())
        with connection.transaction():
            connection.execute("DROP FUNCTION fresh_f")
            connection.execute("DROP SEQUENCE fresh_s")
            connection.execute("DROP TABLE fresh")
        found.append(row)
    expect("new definitions are known", all(row == [[], (4,), (4,), (7,), (1,)] for row in found), found)
def check_settings(connection, there):
    """Settings of the transaction reach the primary and come back from there. The primary shows the block as one of its sessions."""
    run = connection.execute
    run("BEGIN")
    run("INSERT INTO b VALUES (200, 200)")
    run("SET LOCAL app.local = 'x'")
    run("SET LOCAL TimeZone = 'Asia/Tokyo'")
    expect("SET LOCAL reaches the primary", run("UPDATE b SET n = n WHERE id = 200 RETURNING current_setting('app.local'), current_setting('TimeZone')").fetchone() ==
           ("x", "Asia/Tokyo"))
    expect("set_config(..., true) on the primary comes back", run("UPDATE b SET n = n WHERE id = 200 RETURNING set_config('app.back', 'y', true)").fetchone() == ("y",) and
           run("SHOW app.back").fetchone() == ("y",) and run("UPDATE b SET n = n WHERE id = 200 RETURNING current_setting('app.back')").fetchone() == ("y",))
    found = there.execute("SELECT state, query FROM pg_stat_activity WHERE query LIKE 'UPDATE b SET n = n%'").fetchall()
    expect("pg_stat_activity of the primary has the block", len(found) == 1 and found[0][0] == "idle in transaction", found)
    run("COMMIT")
    expect("they end with the transaction", run("SHOW app.local").fetchone() == ("",) and run("SHOW app.back").fetchone() == ("",) and run("SHOW TimeZone").fetchone() == ("UTC",))
    run("DELETE FROM b WHERE id = 200")
    raises("a session of a secondary cancels itself", "57014", lambda: run("SELECT pg_cancel_backend(pg_backend_pid())"))
    expect("it knows its number", run("SELECT pg_backend_pid()").fetchone() == (connection.info.backend_pid,))


def check_block_copy(connection):
    """COPY FROM STDIN in a block that goes on at the primary."""
    run = connection.execute

    def copy_in(rows, more=""):
        with connection.cursor() as cursor:
            with cursor.copy("COPY b (id, n) FROM STDIN" + more) as copying:
                for row in rows:
                    copying.write_row(row)
            return cursor.rowcount

    run("BEGIN")
    run("INSERT INTO b VALUES (1000, 0)")
    expect("COPY in a block", copy_in((i, i) for i in range(1001, 41001)) == 40000)
    expect("the block sees its rows", run("SELECT count(*) FROM b WHERE id >= 1000").fetchone() == (40001,))
    run("SAVEPOINT s")
    raises("a key that is there", "23505", lambda: copy_in([(50000, 1), (1001, 1)]))
    run("ROLLBACK TO s")
    raises("a value that is none", "22P02", lambda: copy_in([(50000, 1), (50001, "x")]))
    run("ROLLBACK TO s")
    expect("after ROLLBACK TO it goes on", copy_in([(50000, 1)]) == 1)
    run("COMMIT")
    expect("all of it is there", run("SELECT count(*) FROM b WHERE id >= 1000").fetchone() == (40002,))
    run("BEGIN")
    expect("COPY as the first statement", copy_in([(60000, 1)]) == 1)
    run("ROLLBACK")
    expect("ROLLBACK takes it back", run("DELETE FROM b WHERE id >= 1000").rowcount == 40002)


def check_isolation(run, there):
    for level in ("REPEATABLE READ", "SERIALIZABLE"):
        run("BEGIN ISOLATION LEVEL " + level)
        before = run("SELECT sum(n) FROM b WHERE id = %s", (1,)).fetchone()
        there.execute("UPDATE b SET n = n + 1 WHERE id = 2")
        expect(f"{level}: what it has read still holds", run("UPDATE b SET n = n + 1 WHERE id = 1").rowcount == 1)
        expect(f"{level}: it sees its own", run("SELECT sum(n) FROM b WHERE id = 1").fetchone() == (before[0] + 1,))
        run("COMMIT")
        run("BEGIN ISOLATION LEVEL " + level)
        run("SELECT sum(n) FROM b WHERE id = %s", (1,)).fetchone()
        there.execute("UPDATE b SET n = n + 1 WHERE id = 1")
        raises(f"{level}: what it has read has changed", "40001", lambda: run("UPDATE b SET n = n + 1 WHERE id = 2"))
        run("ROLLBACK")
        run(f"BEGIN ISOLATION LEVEL {level} READ ONLY")
        first = run("SELECT sum(n) FROM b").fetchone()
        there.execute("UPDATE b SET n = n + 1 WHERE id = 1")
        expect(f"{level} READ ONLY: one state", run("SELECT sum(n) FROM b").fetchone() == first)
        run("COMMIT")


def check_waits(run, there):
    there.execute("BEGIN")
    there.execute("UPDATE b SET n = 0 WHERE id = 1")
    run("BEGIN")
    run("SET LOCAL lock_timeout = '200ms'")
    raises("it waits for rows of other blocks", "55P03", lambda: run("UPDATE b SET n = 1 WHERE id = 1"))
    run("ROLLBACK")
    run("BEGIN")
    run("INSERT INTO b VALUES (60, 60)")
    run("SET LOCAL statement_timeout = '200ms'")
    raises("no longer than statement_timeout", "57014", lambda: run("UPDATE b SET n = 1 WHERE id = 1"))
    run("ROLLBACK")
    there.execute("ROLLBACK")
    run("BEGIN")
    run("INSERT INTO b VALUES (60, 60)")
    there.execute("SET lock_timeout = '200ms'")
    error = raises("others wait for its rows", "55P03", lambda: there.execute("INSERT INTO b VALUES (60, 61)"))
    expect("the hint or message names the wait", "lock" in str(error), error)
    run("ROLLBACK")
    expect("and go on at its end", there.execute("INSERT INTO b VALUES (60, 61)").rowcount == 1)
    there.execute("DELETE FROM b WHERE id = 60")


def check_cancelled_block(connection):
    run = connection.execute
    run("BEGIN")
    run("INSERT INTO b VALUES (70, 70)")
    run("SAVEPOINT s")
    timer = threading.Timer(0.3, connection.cancel)
    timer.start()
    raises("a cancel in a block", "57014", lambda: run("DO $$ BEGIN LOOP NULL; END LOOP; END $$"))
    timer.join()
    run("ROLLBACK TO s")
    run("COMMIT")
    expect("the block goes on", run("SELECT n FROM b WHERE id = 70").fetchone() == (70,))


def check_lost_blocks(connection, primary, relay):
    """The way to the primary ends in the middle of a block."""
    run = connection.execute
    with primary.connect() as there:
        run("BEGIN")
        run("INSERT INTO b VALUES (80, 80)")
        relay.cut()
        raises("a lost block is a conflict", "40001", lambda: run("INSERT INTO b VALUES (81, 81)"))
        raises("and has failed", "25P02", lambda: run("SELECT 1"))
        expect("nothing of it is there", run("COMMIT").statusmessage == "ROLLBACK" and there.execute("SELECT count(*) FROM b WHERE id >= 80 AND id < 100").fetchone() == (0,))
        run("BEGIN")
        run("INSERT INTO b VALUES (82, 82)")
        found = []
        relay.swallows = True
        caller = threading.Thread(target=lambda: found.append(error_of(lambda: run("COMMIT"))))
        caller.start()
        wait_for("the primary has committed it", lambda: there.execute("SELECT count(*) FROM b WHERE id = 82").fetchone() == (1,))
        relay.cut()
        caller.join(PATIENCE_S)
        expect("nobody tells whether it has committed", found == ["40003"], found)
        wait_for("the session goes on", lambda: error_of(lambda: run("INSERT INTO b VALUES (83, 83)")) in (None, "23505"))


def check_killed_primary(connection, primary, restart, relay):
    """Gives the primary that has come back."""
    run = connection.execute
    run("BEGIN")
    run("INSERT INTO b VALUES (90, 90)")
    primary.process.kill()
    primary.process.wait(PATIENCE_S)
    raises("the primary dies within a block", "40001", lambda: run("INSERT INTO b VALUES (91, 91)"))
    run("ROLLBACK")
    run("BEGIN")
    raises("without it no block begins to write", "57P03", lambda: run("INSERT INTO b VALUES (92, 92)"))
    run("ROLLBACK")
    primary = restart()
    host, port = primary.target.split(":")
    relay.to = (host, int(port))
    run("SET lock_timeout = '20s'")

    def inserts():
        return error_of(lambda: run("BEGIN; INSERT INTO b VALUES (93, 93); COMMIT")) is None or run("ROLLBACK") is None

    wait_for("blocks go on with the next one", inserts)
    with primary.connect() as there:
        expect("what was not committed is gone", there.execute("SELECT id FROM b WHERE id BETWEEN 90 AND 99").fetchall() == [(93,)])
    return primary


def check_done_once(connection, primary, relay):
    found = []
    count = "SELECT n FROM t WHERE id = 1"
    with primary.connect() as there:
        before = there.execute(count).fetchone()[0]
        relay.swallows = True
        caller = threading.Thread(target=lambda: found.append(connection.execute("UPDATE t SET n = n + 1 WHERE id = 1 RETURNING n").fetchone()))
        caller.start()
        wait_for("the primary has done it", lambda: there.execute(count).fetchone()[0] == before + 1)
        relay.cut()
        caller.join(PATIENCE_S)
        expect("an answer that was lost comes, and the change is done once", found == [(before + 1,)] and there.execute(count).fetchone() == (before + 1,), found)


def check_lost_copy(connection, primary, relay):
    found = []
    with primary.connect() as there:
        caller = threading.Thread(target=lambda: found.append(error_of(lambda: copy_and_swallow(connection, relay))))
        caller.start()
        wait_for("the primary has copied it", lambda: there.execute("SELECT count(*) FROM t WHERE id = 50000").fetchone() == (1,))
        relay.cut()
        caller.join(PATIENCE_S)
        expect("nobody tells whether it was copied", found == ["40003"], found)
        wait_for("the session goes on", lambda: error_of(lambda: copy(connection, [(50001, None)])) in (None, "23505"))


def copy_and_swallow(connection, relay):
    with connection.cursor().copy("COPY t (id) FROM STDIN") as copying:
        copying.write_row((50000,))
        relay.swallows = True


def error_of(run):
    try:
        run()
    except psycopg.Error as error:
        return error.sqlstate
    return None


def main():
    if psycopg is None:
        return 0
    with tempfile.TemporaryDirectory() as directory:
        nodes = []
        try:
            primary = Node(sys.argv[1], directory, "p", "--replication")
            nodes.append(primary)
            relay = Relay(primary.target)
            secondary = Node(sys.argv[1], directory, "s", "--role", "secondary", "--primary", relay.target)
            nodes.append(secondary)
            with secondary.connect() as connection:
                wait_for("the secondary takes queries", lambda: serves(connection))
                check_statements(connection)
                check_errors(connection)
                check_new_definitions(connection)
                check_copy(connection)
                check_blocks(connection, primary)
                check_cancelled_block(connection)
                check_lost_blocks(connection, primary, relay)
                check_done_once(connection, primary, relay)
                check_lost_copy(connection, primary, relay)
                primary = check_killed_primary(connection, primary, lambda: Node(sys.argv[1], directory, "p", "--replication"), relay)
                nodes.append(primary)
                expect("the primary stops", primary.stop() == 0)
                error = raises("without a primary nothing is done", "57P03", lambda: connection.execute("INSERT INTO t (id) VALUES (1000)"))
                raises("nor is anything copied", "57P03", lambda: copy(connection, [(1000, None)]))
                expect("and there is a hint", "Retry" in (error.diag.message_hint or ""), error.diag.message_hint)
                relay.listener.close()
            expect("the secondary stops", secondary.stop() == 0)
        finally:
            for node in nodes:
                node.process.kill()
    return CHECKS.finish()


def serves(connection):
    try:
        return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.Error:
        return False


if __name__ == "__main__":
    sys.exit(main())
