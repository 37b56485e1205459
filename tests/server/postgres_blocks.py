#!/usr/bin/env python3
"""Blocks of BEGIN ... COMMIT as programs write them: what they read, lock and change, from several sessions at once.

Usage: postgres_blocks.py SCYPERD
Each check says what it found; the exit code counts the failures.
"""
import pathlib
import re
import sys
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from postgres_servers import CHECKS, Node, expect, optional

psycopg = optional("psycopg")
SCHEMA = """
CREATE TABLE stock (id integer PRIMARY KEY, amount integer NOT NULL, name text) PARTITION BY HASH (id);
INSERT INTO stock SELECT i, 10, 'item ' || i FROM generate_series(1, 200) i;
CREATE TABLE jobs (id integer PRIMARY KEY, state text NOT NULL DEFAULT 'new', runs integer NOT NULL DEFAULT 0);
INSERT INTO jobs SELECT i FROM generate_series(1, 60) i;
CREATE TABLE log (id bigint GENERATED ALWAYS AS IDENTITY, what text);
CREATE FUNCTION note(t text) RETURNS bigint LANGUAGE sql AS 'INSERT INTO log (what) VALUES (t) RETURNING id';
"""


def together(work, count):
    """Runs work(i) in so many threads; the errors that they end with."""
    errors = []

    def run(i):
        try:
            work(i)
        except Exception as error:  # pylint: disable=broad-except
            errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def one(connection, sql, *values):
    row = connection.execute(sql, values).fetchone()
    return row[0] if row is not None else None


def locked_rows(node):
    def take(_):
        with psycopg.connect(node.conninfo) as connection:
            for _ in range(25):
                amount = one(connection, "SELECT amount FROM stock WHERE id = %s FOR UPDATE", 1)
                connection.execute("UPDATE stock SET amount = %s WHERE id = %s", (amount - 1, 1))
                connection.commit()

    with psycopg.connect(node.conninfo, autocommit=True) as connection:
        connection.execute("UPDATE stock SET amount = 100 WHERE id = 1")
        errors = together(take, 4)
        expect("FOR UPDATE: no update is lost", one(connection, "SELECT amount FROM stock WHERE id = 1") == 0 and not errors, str(errors))


def locked_beside_others(node):
    """Blocks that lock rows first, beside blocks that just change them: nobody loses an update, and nobody has to try again."""
    def take(i):
        with psycopg.connect(node.conninfo) as connection:
            for _ in range(25):
                if i % 2 == 0:
                    amount = one(connection, "SELECT amount FROM stock WHERE id = %s FOR UPDATE", 150)
                    connection.execute("UPDATE stock SET amount = %s WHERE id = %s", (amount - 1, 150))
                else:
                    connection.execute("UPDATE stock SET amount = amount - 1 WHERE id = %s", (150,))
                connection.execute("UPDATE stock SET amount = amount + 1 WHERE id = %s", (152,))
                connection.commit()

    with psycopg.connect(node.conninfo, autocommit=True) as connection:
        connection.execute("UPDATE stock SET amount = 100 WHERE id = 150; UPDATE stock SET amount = 0 WHERE id = 152")
        errors = together(take, 4)
        found = connection.execute("SELECT amount FROM stock WHERE id IN (150, 152) ORDER BY id").fetchall()
        expect("FOR UPDATE beside plain changes", found == [(0,), (100,)] and not errors, f"{found} {errors}")


def job_queue(node):
    done = []

    def work(_):
        with psycopg.connect(node.conninfo) as connection:
            while True:
                job = one(connection, "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
                if job is None:
                    connection.rollback()
                    return
                connection.execute("UPDATE jobs SET state = 'done', runs = runs + 1 WHERE id = %s", (job,))
                connection.commit()
                done.append(job)

    errors = together(work, 4)
    expect("SKIP LOCKED: each job runs once", sorted(done) == list(range(1, 61)) and not errors, f"{len(done)} runs, {errors}")


def job_queue_by_statements(node):
    """The job is chosen and taken by one statement, and its block stays open for a while."""
    done = []

    def work(_):
        with psycopg.connect(node.conninfo) as connection:
            while True:
                job = one(connection, "UPDATE jobs SET state = 'taken', runs = runs + 1 WHERE id = (SELECT id FROM jobs WHERE state = 'again' "
                                      "ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id")
                if job is None:
                    connection.rollback()
                    return
                connection.execute("SELECT pg_sleep(0.005)")
                connection.execute("UPDATE jobs SET state = 'done' WHERE id = %s", (job,))
                connection.commit()
                done.append(job)

    with psycopg.connect(node.conninfo, autocommit=True) as connection:
        connection.execute("UPDATE jobs SET state = 'again', runs = 0")
        errors = together(work, 4)
        runs = one(connection, "SELECT max(runs) FROM jobs")
        expect("SKIP LOCKED in a subquery: each job runs once", sorted(done) == list(range(1, 61)) and runs == 1 and not errors, f"{len(done)} runs, {errors}")


def locks_of_tables(node):
    """LOCK TABLE waits for blocks that have changed rows of the table, or locked some."""
    with psycopg.connect(node.conninfo) as holder, psycopg.connect(node.conninfo) as other:
        holder.execute("UPDATE stock SET amount = 7 WHERE id = 100")
        for mode, expected in (("SHARE", "55P03"), ("EXCLUSIVE", "55P03"), ("ACCESS EXCLUSIVE", "55P03"), ("SHARE UPDATE EXCLUSIVE", "no error")):
            found = state_of(lambda: other.execute(f"LOCK TABLE stock IN {mode} MODE NOWAIT"))
            expect(f"NOWAIT beside changes: {mode}", found == expected, found)
            other.rollback()
        expect("of another table", state_of(lambda: other.execute("LOCK TABLE jobs IN EXCLUSIVE MODE NOWAIT")) == "no error")
        other.rollback()
        other.execute("SET lock_timeout = '50ms'")
        other.commit()
        expect("without NOWAIT it waits", state_of(lambda: other.execute("LOCK TABLE stock")) == "55P03")
        other.rollback()
        holder.commit()
        holder.execute("SELECT * FROM stock WHERE id = 100 FOR UPDATE")
        found = [state_of(lambda: other.execute("LOCK TABLE stock IN SHARE MODE NOWAIT"))]
        other.rollback()
        found.append(state_of(lambda: other.execute("LOCK TABLE stock IN EXCLUSIVE MODE NOWAIT")))
        other.rollback()
        expect("beside locked rows", found == ["no error", "55P03"], found)
        waiter = threading.Thread(target=lambda: (other.execute("SET lock_timeout = 0"), other.execute("LOCK TABLE stock"),
                                                  other.execute("UPDATE stock SET amount = amount + 1 WHERE id = 100"), other.commit()))
        holder.execute("UPDATE stock SET amount = 20 WHERE id = 100")
        waiter.start()
        holder.commit()
        waiter.join()
        expect("who has waited goes on", one(holder, "SELECT amount FROM stock WHERE id = 100") == 21)
        holder.rollback()


def locks_that_stop_nobody(node):
    with psycopg.connect(node.conninfo) as holder, psycopg.connect(node.conninfo) as other, psycopg.connect(node.conninfo, autocommit=True) as single:
        holder.execute("SELECT * FROM stock WHERE id = 100 FOR UPDATE")
        single.execute("UPDATE stock SET amount = 1 WHERE id = 101")
        other.execute("SELECT * FROM stock WHERE id = 101 FOR UPDATE")
        found = [state_of(lambda: single.execute(f"SELECT * FROM stock WHERE id = {i} FOR SHARE NOWAIT")) for i in (100, 101, 102)]
        expect("FOR UPDATE keeps a row, not the node", found == ["55P03", "55P03", "no error"], str(found))
        rows = single.execute("SELECT id FROM stock WHERE id BETWEEN 99 AND 110 ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED").fetchall()
        expect("SKIP LOCKED skips before LIMIT", rows == [(99,), (102,), (103,)], str(rows))
        single.execute("SET lock_timeout = '50ms'")
        found = state_of(lambda: single.execute("SELECT * FROM stock WHERE id = 100 FOR UPDATE"))
        expect("FOR UPDATE outside of blocks waits", found == "55P03", found)
        other.execute("DECLARE c CURSOR FOR SELECT id FROM stock WHERE id IN (103, 104) FOR UPDATE")
        found = state_of(lambda: single.execute("DELETE FROM stock WHERE id = 104"))
        expect("a cursor locks its rows", found == "55P03", found)
        other.rollback()
        holder.rollback()
        single.execute("SET default_transaction_read_only = on")
        found = state_of(lambda: single.execute("SELECT * FROM stock WHERE id = 100 FOR UPDATE"))
        expect("who only reads locks nothing", found == "25006", found)


def levels(node):
    with psycopg.connect(node.conninfo) as reader, psycopg.connect(node.conninfo, autocommit=True) as writer:
        expect("the default level", one(reader, "SHOW transaction_isolation") == "read committed")
        reader.rollback()
        before = one(reader, "SELECT amount FROM stock WHERE id = 2")
        writer.execute("UPDATE stock SET amount = 77 WHERE id = 2")
        expect("READ COMMITTED: a statement sees what was committed before it", (before, one(reader, "SELECT amount FROM stock WHERE id = 2")) == (10, 77))
        total = one(reader, "SELECT sum(amount) FROM stock WHERE id > 1")
        writer.execute("UPDATE stock SET amount = 78 WHERE id = 2")
        expect("so does a long one", one(reader, "SELECT sum(amount) FROM stock WHERE id > 1") == total + 1)
        reader.execute("UPDATE stock SET amount = amount + 1 WHERE id = 3")
        reader.commit()
        expect("and it may write after others have", one(writer, "SELECT amount FROM stock WHERE id = 3") == 11)

        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        before = one(reader, "SELECT amount FROM stock WHERE id = 2")
        writer.execute("UPDATE stock SET amount = 5 WHERE id = 2")
        expect("REPEATABLE READ: the block reads one state", (before, one(reader, "SELECT amount FROM stock WHERE id = 2")) == (78, 78))
        try:
            reader.execute("UPDATE stock SET amount = amount + 1 WHERE id = 2")
            found = "no error"
        except psycopg.Error as error:
            found = error.sqlstate
        expect("REPEATABLE READ: who writes what another has changed is told so", found == "40001", found)
        reader.rollback()


def functions_that_write(node):
    with psycopg.connect(node.conninfo, autocommit=True) as connection:
        numbers = [one(connection, "SELECT note(%s)", f"n{i}") for i in range(5)]
        expect("SELECT f(), where f writes, runs once", numbers == list(range(1, 6)) and one(connection, "SELECT count(*) FROM log") == 5, str(numbers))
        connection.execute("SET default_transaction_read_only = on")
        try:
            connection.execute("SELECT note('x')")
            found = "no error"
        except psycopg.Error as error:
            found = error.sqlstate
        expect("and not in a transaction that only reads", found == "25006", found)


def own_changes(node):
    with psycopg.connect(node.conninfo) as connection:
        for i in range(3):
            connection.execute("INSERT INTO stock VALUES (%s, 1, 'new')", (1000 + i,))
            connection.execute("UPDATE stock SET amount = amount + 5 WHERE id = %s", (1000 + i,))
            expect(f"a block sees what it has changed ({i})", one(connection, "SELECT amount FROM stock WHERE id = %s", 1000 + i) == 6)
            connection.execute("SAVEPOINT s")
            connection.execute("DELETE FROM stock WHERE id = %s", (1000 + i,))
            connection.execute("ROLLBACK TO s")
        connection.execute("CREATE TABLE made (a integer PRIMARY KEY)")
        connection.execute("INSERT INTO made VALUES (1)")
        expect("and what it has defined", one(connection, "SELECT a FROM made WHERE a = 1") == 1)
        connection.rollback()
        expect("all of which goes", one(connection, "SELECT count(*) FROM stock WHERE id >= 1000") == 0)


def cursors_and_savepoints(node):
    with psycopg.connect(node.conninfo) as connection:
        connection.execute("DECLARE before CURSOR FOR SELECT g FROM generate_series(1, 9) g")
        connection.execute("SAVEPOINT a")
        connection.execute("DECLARE kept CURSOR FOR SELECT g FROM generate_series(1, 9) g")
        connection.execute("SAVEPOINT b")
        connection.execute("DECLARE lost CURSOR FOR SELECT g FROM generate_series(1, 9) g")
        connection.execute("RELEASE b")
        connection.execute("SAVEPOINT c")
        connection.execute("DECLARE gone CURSOR WITH HOLD FOR SELECT g FROM generate_series(1, 9) g")
        connection.execute("ROLLBACK TO c")
        found = [one(connection, f"FETCH {name}") for name in ("before", "kept", "lost")]
        expect("cursors before a savepoint stay", found == [1, 1, 1], found)
        expect("those behind it go", state_of(lambda: connection.execute("FETCH gone")) == "34000")
        connection.execute("ROLLBACK TO a")
        expect("so do those of one that was released", state_of(lambda: connection.execute("FETCH lost")) == "34000")
        connection.execute("ROLLBACK TO a")
        expect("an outer one stays", one(connection, "FETCH before") == 2)
        connection.rollback()


def settings_and_time(node):
    """What SET changes goes with its savepoint; the time of a transaction stays."""
    with psycopg.connect(node.conninfo) as connection:
        connection.execute("SET datestyle = 'ISO, YMD'")
        connection.execute("SAVEPOINT a")
        connection.execute("SET LOCAL datestyle = 'German'")
        connection.execute("SET scyper_test.mine = 'one'")
        connection.execute("SAVEPOINT b")
        connection.execute("SET datestyle = 'SQL, MDY'")
        connection.execute("ROLLBACK TO b")
        expect("a savepoint brings settings back", one(connection, "SHOW datestyle").startswith("German"))
        connection.execute("RELEASE b")
        expect("RELEASE keeps them", one(connection, "SHOW datestyle").startswith("German") and one(connection, "SHOW scyper_test.mine") == "one")
        connection.execute("ROLLBACK TO a")
        expect("one by one", one(connection, "SHOW datestyle") == "ISO, YMD")
        connection.commit()
        expect("COMMIT keeps what is left", one(connection, "SHOW datestyle") == "ISO, YMD")
        connection.execute("SET datestyle = 'Postgres, MDY'")
        connection.rollback()
        expect("ROLLBACK brings all back", one(connection, "SHOW datestyle") == "ISO, YMD")
        connection.rollback()
        connection.execute("CREATE TEMPORARY TABLE times (at timestamp(6), n integer)")
        for i in range(3):
            connection.execute("INSERT INTO times VALUES ('now', %s), (now(), %s), (localtimestamp, %s)", (i, i, i))
            connection.execute("SELECT pg_sleep(0.02)")
        expect("one time a transaction", one(connection, "SELECT count(DISTINCT at) FROM times WHERE at = timestamp 'now'") == 1
               and one(connection, "SELECT count(*) FROM times WHERE at = now()") == 9)
        connection.rollback()
        first = one(connection, "SELECT now()")
        connection.execute("UPDATE stock SET amount = amount WHERE id = 3")
        expect("also where it writes later", one(connection, "SELECT now()") == first)


def state_of(work):
    try:
        work()
        return "no error"
    except psycopg.Error as error:
        return error.sqlstate


def blocks_that_stop_nobody(node):
    with psycopg.connect(node.conninfo) as one_block, psycopg.connect(node.conninfo) as other, psycopg.connect(node.conninfo, autocommit=True) as single:
        one_block.execute("UPDATE stock SET amount = 1000 WHERE id = 50")
        one_block.execute("INSERT INTO stock VALUES (2000, 1, 'of a block')")
        single.execute("UPDATE stock SET amount = 7 WHERE id = 51")
        seen = single.execute("SELECT id, amount FROM stock WHERE id IN (50, 51, 2000) ORDER BY id").fetchall()
        expect("an open block stops nobody, and nobody sees its changes", seen == [(50, 10), (51, 7)], str(seen))
        single.execute("SET lock_timeout = '50ms'")
        found = [state_of(lambda: single.execute("UPDATE stock SET amount = 0 WHERE id = 50")), state_of(lambda: single.execute("INSERT INTO stock VALUES (2000, 2, 'x')"))]
        expect("its rows and keys are its own: lock_timeout", found == ["55P03", "55P03"], str(found))
        single.execute("SET lock_timeout = 0; SET statement_timeout = '50ms'")
        found = state_of(lambda: single.execute("DELETE FROM stock WHERE id = 50"))
        expect("and statement_timeout", found == "57014", found)
        single.execute("SET statement_timeout = 0")

        other.execute("UPDATE stock SET amount = 1 WHERE id = 52")
        errors = []
        waiter = threading.Thread(target=lambda: errors.append(state_of(lambda: one_block.execute("UPDATE stock SET amount = 2 WHERE id = 52"))))
        waiter.start()
        errors.append(state_of(lambda: other.execute("UPDATE stock SET amount = 1 WHERE id = 50")))
        other.rollback()
        waiter.join()
        expect("a circle of blocks: one of them fails", sorted(errors) == ["40P01", "no error"], str(errors))
        one_block.rollback()
        one_block.execute("UPDATE stock SET amount = amount + 1 WHERE id = 50")
        waiter = threading.Thread(target=lambda: single.execute("UPDATE stock SET amount = amount * 2 WHERE id = 50"))
        waiter.start()
        one_block.commit()
        waiter.join()
        amount = one(single, "SELECT amount FROM stock WHERE id = 50")
        expect("who has waited goes on from what was committed", amount in (21, 22), str(amount))
        one_block.execute("DELETE FROM stock WHERE id = 53")
        one_block.close()
        single.execute("UPDATE stock SET amount = 3 WHERE id = 53")
        expect("a client that goes leaves nothing", one(single, "SELECT amount FROM stock WHERE id = 53") == 3)


def a_waiter_that_is_ended(node):
    with psycopg.connect(node.conninfo) as block, psycopg.connect(node.conninfo, autocommit=True) as single:
        block.execute("UPDATE stock SET amount = 5 WHERE id = 60")
        waits = psycopg.connect(node.conninfo, autocommit=True)
        told = []

        def wait():
            try:
                waits.execute("UPDATE stock SET amount = 6 WHERE id = 60")
            except psycopg.Error as error:
                told.append(str(error))

        waiter = threading.Thread(target=wait)
        waiter.start()
        while one(single, f"SELECT state FROM pg_stat_activity WHERE pid = {waits.info.backend_pid}") != "active":
            pass
        single.execute(f"SELECT pg_terminate_backend({waits.info.backend_pid})")
        waiter.join()
        expect("a waiter that is ended is told so", len(told) == 1 and "terminating connection due to administrator command" in told[0], str(told))
        block.rollback()


def large_blocks(program):
    node = Node(program, "--block-changes-max", "4kB", "--block-locked-rows-max", "10", has_http=True)

    def alone():
        text = urllib.request.urlopen(node.metrics, timeout=10).read().decode()
        return float(re.search(r"^scyper_blocks_alone_total (\S+)", text, re.MULTILINE).group(1))

    with psycopg.connect(node.conninfo) as block:
        block.execute("CREATE TABLE many AS SELECT g AS id, 0 AS n FROM generate_series(1, 1000) g")
        block.commit()
        first = alone()
        block.execute("UPDATE many SET n = 1 WHERE id < 5")
        block.execute("SELECT id FROM many WHERE id < 5 FOR UPDATE")
        block.commit()
        small = alone()
        block.execute("UPDATE many SET n = 2")
        block.commit()
        changes = alone()
        block.execute("SELECT id FROM many WHERE id < 50 FOR UPDATE")
        block.commit()
        found = [small - first, changes - small, alone() - changes]
    expect("large blocks run alone, as the settings say", found == [0, 1, 1], str(found))
    expect("the node with small limits stops as it should", node.stop() == 0)


def main():
    if psycopg is None:
        return 0
    node = Node(sys.argv[1])
    with psycopg.connect(node.conninfo, autocommit=True) as connection:
        for statement in SCHEMA.strip().split("\n"):
            connection.execute(statement)
    for check in (locked_rows, locked_beside_others, job_queue, job_queue_by_statements, locks_of_tables, locks_that_stop_nobody, levels, functions_that_write, own_changes, cursors_and_savepoints, settings_and_time,
                  blocks_that_stop_nobody, a_waiter_that_is_ended):
        check(node)
    expect("the node stops as it should", node.stop() == 0)
    large_blocks(sys.argv[1])
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
