#!/usr/bin/env python3
"""Blocks in REPEATABLE READ and SERIALIZABLE: histories of many sessions that must be serialisable, and blocks that others may not starve.

Usage: postgres_serializable.py SCYPERD [SEED]
Each check says what it found; the exit code counts the failures.

Histories: each transaction reads lists and appends to some of them, so a list tells the order of all that was written to it. The
transactions and their dependencies (who read what, who came behind) must form no circle. Transactions that have failed in the end have
read one state, too. Source: Kingsbury, Alvaro, "Elle", VLDB 2021.
"""
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from postgres_servers import CHECKS, Node, expect, optional

psycopg = optional("psycopg")
LISTS = 12
SESSIONS = 8
SCHEMA = f"""
CREATE TABLE lists (id integer PRIMARY KEY, items text NOT NULL, n bigint NOT NULL DEFAULT 0) PARTITION BY HASH (id);
INSERT INTO lists SELECT i, '' FROM generate_series(1, {LISTS}) i;
CREATE TABLE shared (id integer PRIMARY KEY, items text NOT NULL, n bigint NOT NULL DEFAULT 0);
INSERT INTO shared SELECT i, '' FROM generate_series(1, {LISTS}) i;
CREATE TABLE appended (list integer, item integer);
CREATE TABLE rows_of_others (id integer PRIMARY KEY, n integer NOT NULL) PARTITION BY HASH (id);
INSERT INTO rows_of_others SELECT i, 0 FROM generate_series(1, 1000) i;
"""


def items_of(text):
    return [int(item) for item in text.split(",") if item]


class Historian:
    """One session: transactions of reads and appends, with what they have read."""

    def __init__(self, node, level, seed, first_item, table):
        self.level, self.random, self.item, self.table = level, random.Random(seed), first_item, table
        self.connection = psycopg.connect(node.conninfo, autocommit=True)
        self.done, self.failed, self.errors = [], [], []

    def access(self, transaction):
        key = self.random.randint(1, LISTS)
        kind = self.random.choice(["read", "read", "append", "append", "predicate", "savepoint"])
        if kind == "read":
            text = self.connection.execute(f"SELECT items FROM {self.table} WHERE id = %s", (key,)).fetchone()[0]
            transaction["reads"].append((key, items_of(text)))
        elif kind == "predicate":
            rows = self.connection.execute(f"SELECT id, items FROM {self.table} WHERE id BETWEEN %s AND %s ORDER BY id", (key, key + 2)).fetchall()
            transaction["reads"].extend((row[0], items_of(row[1])) for row in rows)
        elif kind == "append":
            self.item += 1
            self.connection.execute(f"UPDATE {self.table} SET items = items || ',' || %s::text, n = n + 1 WHERE id = %s", (str(self.item), key))
            self.connection.execute("INSERT INTO appended VALUES (%s, %s)", (key, self.item))
            transaction["own"].add(self.item)
            transaction["appends"].append((key, self.item))
        else:  # what is taken back was read nevertheless
            self.connection.execute("SAVEPOINT a")
            self.connection.execute(f"UPDATE {self.table} SET items = items || ',0' WHERE id = %s", (key,))
            text = self.connection.execute(f"SELECT items FROM {self.table} WHERE id = %s", (key,)).fetchone()[0]
            transaction["reads"].append((key, items_of(text)[:-1]))
            self.connection.execute("ROLLBACK TO a")

    def run(self, until):
        try:
            while time.monotonic() < until:
                transaction = {"reads": [], "appends": [], "own": set()}
                try:
                    self.connection.execute(f"BEGIN ISOLATION LEVEL {self.level}")
                    for _ in range(self.random.randint(1, 5)):
                        self.access(transaction)
                    self.connection.execute("COMMIT")
                    self.done.append(transaction)
                except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                    self.connection.execute("ROLLBACK")
                    self.failed.append({**transaction, "appends": []})
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(f"{type(error).__name__}: {error}")


def edges_of(transactions, ends):
    """Dependencies: number of a transaction to the numbers of those that must come behind it. And what no order explains."""
    writer, wrong = {}, []
    for number, transaction in enumerate(transactions):
        for key, item in transaction["appends"]:
            writer[key, item] = number
    edges = {number: set() for number in range(len(transactions))}

    def add(before, behind):
        if before is not None and behind is not None and before != behind:
            edges[before].add(behind)

    for key, items in ends.items():
        numbers = [writer.get((key, item)) for item in items]
        if None in numbers:
            wrong.append(f"list {key} has an item of no transaction that has committed")
        for before, behind in zip(numbers, numbers[1:]):
            add(before, behind)
    for (key, item), number in writer.items():
        if item not in ends[key]:
            wrong.append(f"item {item} of list {key} is lost")
    for number, transaction in enumerate(transactions):
        for key, items in transaction["reads"]:
            seen = [item for item in items if item not in transaction["own"]]
            if ends[key][:len(seen)] != seen:
                wrong.append(f"list {key} never was {seen}")
                continue
            add(writer.get((key, seen[-1])) if seen else None, number)
            later = ends[key][len(seen):]
            add(number, writer.get((key, later[0])) if later else None)
    return edges, wrong


def find_circle(edges):
    """Tarjan's strongly connected components, without recursion: the first one of several transactions."""
    index, low, on_stack, stack, count = {}, {}, set(), [], 0
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = count
        count += 1
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for successor in rest:
                if successor not in index:
                    index[successor] = low[successor] = count
                    count += 1
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(edges[successor])))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        return component
    return []


def histories(node, level, table, seed, seconds):
    name = f"{level}, {table}, seed {seed}"
    with psycopg.connect(node.conninfo, autocommit=True) as connection:
        connection.execute(f"UPDATE {table} SET items = '', n = 0")
        connection.execute("DELETE FROM appended")
        historians = [Historian(node, level, seed * 100 + i, i * 1_000_000, table) for i in range(SESSIONS)]
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=historian.run, args=(until,)) for historian in historians]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rows = connection.execute(f"SELECT id, items, n FROM {table}").fetchall()
        noted = sorted(connection.execute("SELECT list, item FROM appended").fetchall())
    ends = {row[0]: items_of(row[1]) for row in rows}
    transactions = [transaction for historian in historians for transaction in historian.done]
    errors = [error for historian in historians for error in historian.errors]
    failed = [transaction for historian in historians for transaction in historian.failed]
    print(f"      {name}: {len(transactions)} committed, {len(failed)} failed with 40001 or 40P01", flush=True)
    transactions += failed
    edges, wrong = edges_of(transactions, ends)
    circle = find_circle(edges)
    expect(f"{name}: no session fails otherwise", not errors, str(errors[:3]))
    expect(f"{name}: nothing is lost or invented", not wrong, str(wrong[:3]))
    expect(f"{name}: no circle", not circle, str([transactions[number] for number in circle[:5]]))
    expect(f"{name}: both tables say the same", noted == sorted((key, item) for key, items in ends.items() for item in items))
    expect(f"{name}: some commit", len(transactions) > len(failed))


def starvation(node):
    """Writers of other rows, which never pause, do not fail a block."""
    stop = threading.Event()

    def write(i):
        with psycopg.connect(node.conninfo, autocommit=True) as connection:
            row = 100 + i * 50
            while not stop.is_set():
                row = 100 + i * 50 + (row + 1) % 50
                connection.execute("UPDATE rows_of_others SET n = n + 1 WHERE id = %s", (row,))

    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    try:
        with psycopg.connect(node.conninfo, autocommit=True) as connection:
            for level in ("REPEATABLE READ", "SERIALIZABLE"):
                committed = 0
                for _ in range(20):
                    try:
                        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
                        connection.execute("SELECT n FROM rows_of_others WHERE id = 1").fetchone()
                        connection.execute("UPDATE rows_of_others SET n = n + 1 WHERE id = 1")
                        connection.execute("COMMIT")
                        committed += 1
                    except psycopg.errors.SerializationFailure:
                        connection.execute("ROLLBACK")
                expect(f"{level} beside writers of other rows", committed == 20, f"{committed} of 20")
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def long_reads(node):
    """A query on a snapshot, then a change: others may change other tables meanwhile."""
    with psycopg.connect(node.conninfo, autocommit=True) as one, psycopg.connect(node.conninfo, autocommit=True) as other:
        for level in ("REPEATABLE READ", "SERIALIZABLE"):
            for beside, outcome in (("UPDATE shared SET n = 0 WHERE id = 1", True), ("UPDATE rows_of_others SET n = n WHERE id = 7", True),
                                    ("UPDATE rows_of_others SET n = n + 1 WHERE id = 7", False)):
                one.execute(f"BEGIN ISOLATION LEVEL {level}")
                one.execute("SELECT sum(a.n + b.n) FROM rows_of_others a, rows_of_others b").fetchone()
                other.execute(beside)
                try:
                    one.execute("UPDATE lists SET n = 0 WHERE id = 1")
                    one.execute("COMMIT")
                    done = True
                except psycopg.errors.SerializationFailure:
                    one.execute("ROLLBACK")
                    done = False
                expect(f"{level}: a long query, then {beside}", done == outcome)


def snapshot_behind_short_reads(node):
    """A long query behind short ones sees the state that these have seen, or fails."""
    with psycopg.connect(node.conninfo, autocommit=True) as one, psycopg.connect(node.conninfo, autocommit=True) as other:
        for row, outcome in ((9, True), (3, False)):
            one.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
            one.execute("SELECT n FROM rows_of_others WHERE id = 3").fetchone()
            other.execute("UPDATE rows_of_others SET n = n + 1 WHERE id = %s", (row,))
            try:
                one.execute("SELECT sum(a.n + b.n) FROM rows_of_others a, rows_of_others b").fetchone()
                other.execute("UPDATE shared SET n = n + 1 WHERE id = 2")
                one.execute("UPDATE lists SET n = 0 WHERE id = 1")
                one.execute("COMMIT")
                done = True
            except psycopg.errors.SerializationFailure:
                one.execute("ROLLBACK")
                done = False
            expect(f"SERIALIZABLE: a short query, a change of row {row}, a long query", done == outcome)


def plans(node):
    """Plans are no part of what has to hold."""
    with psycopg.connect(node.conninfo, autocommit=True) as one, psycopg.connect(node.conninfo, autocommit=True) as other:
        for level in ("REPEATABLE READ", "SERIALIZABLE"):
            one.execute(f"BEGIN ISOLATION LEVEL {level}")
            one.execute("EXPLAIN SELECT n FROM rows_of_others").fetchall()
            other.execute("UPDATE rows_of_others SET n = n + 1 WHERE id < 900")
            one.execute("UPDATE lists SET n = 0 WHERE id = 1")
            one.execute("COMMIT")
            expect(f"{level}: EXPLAIN, then a change", True)


def next_try(node):
    """A block in SERIALIZABLE that only reads fails once at most: the next one reads on a snapshot."""
    with psycopg.connect(node.conninfo, autocommit=True) as one, psycopg.connect(node.conninfo, autocommit=True) as other:
        outcomes = []
        for _ in range(2):
            try:
                one.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
                one.execute("SELECT n FROM rows_of_others WHERE id = 600").fetchone()
                other.execute("UPDATE rows_of_others SET n = n + 1 WHERE id IN (600, 601)")
                one.execute("SELECT n FROM rows_of_others WHERE id = 601").fetchone()
                one.execute("COMMIT")
                outcomes.append("committed")
            except psycopg.errors.SerializationFailure:
                one.execute("ROLLBACK")
                outcomes.append("failed")
        expect("SERIALIZABLE: a block that only reads, tried twice", outcomes == ["failed", "committed"], str(outcomes))


def reads_only(node):
    """REPEATABLE READ sees one state, and never fails."""
    with psycopg.connect(node.conninfo, autocommit=True) as one, psycopg.connect(node.conninfo, autocommit=True) as other:
        for level in ("REPEATABLE READ", "SERIALIZABLE READ ONLY", "REPEATABLE READ READ ONLY"):
            one.execute(f"BEGIN ISOLATION LEVEL {level}")
            first = one.execute("SELECT n FROM rows_of_others WHERE id = 500").fetchone()
            other.execute("UPDATE rows_of_others SET n = n + 1 WHERE id IN (500, 501)")
            again = one.execute("SELECT n FROM rows_of_others WHERE id = 500").fetchone()
            fits = one.execute("SELECT n FROM rows_of_others WHERE id = 501").fetchone()
            one.execute("COMMIT")
            expect(f"{level}: one state", first == again == fits, f"{first} {again} {fits}")


def main():
    if psycopg is None:
        return 0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1_000_000)
    print(f"seed {seed}", flush=True)
    node = Node(sys.argv[1])
    with psycopg.connect(node.conninfo, autocommit=True) as connection:
        for statement in SCHEMA.strip().split("\n"):
            connection.execute(statement)
    reads_only(node)
    long_reads(node)
    snapshot_behind_short_reads(node)
    plans(node)
    next_try(node)
    starvation(node)
    for level in ("SERIALIZABLE", "REPEATABLE READ"):
        for table in ("lists", "shared"):
            histories(node, level, table, seed, seconds=5)
    expect("the node stops as it should", node.stop() == 0)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
