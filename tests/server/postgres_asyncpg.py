#!/usr/bin/env python3
"""asyncpg against a node: postgres_drivers.py runs it. Usage: postgres_asyncpg.py PORT"""
import asyncio
import datetime
import decimal
import io
import pathlib
import sys
import uuid

import asyncpg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS


def expect(what, condition, found=""):
    CHECKS.expect("asyncpg: " + what, condition, repr(found))


async def error_of(work):
    try:
        await work
    except asyncpg.PostgresError as error:
        return error
    return None


UTC = datetime.timezone.utc
# All binary.
VALUES = {
    "integer": (7, 7), "smallint": (3, 3), "bigint": (1 << 40, 1 << 40), "text": ("snö", "snö"), "varchar(9)": ("x", "x"),
    "numeric(12,3)": (decimal.Decimal("1.500"), decimal.Decimal("1.500")), "double precision": (-0.5, -0.5), "real": (1.5, 1.5),
    "boolean": (True, True), "date": (datetime.date(2024, 2, 29),) * 2, "time": (datetime.time(1, 2, 3),) * 2,
    "timestamp": (datetime.datetime(2024, 1, 2, 3, 4, 5, 678),) * 2,
    "timestamptz": (datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),) * 2,
    "uuid": (uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),) * 2,
    "jsonb": ('{"k": [1, null]}',) * 2, "bytea": (b"\x00\xff",) * 2,
    "interval": (datetime.timedelta(days=-1, seconds=5),) * 2,
    "text[]": (["a", None, "c,d"],) * 2,
}


async def check_values(db):
    columns = ", ".join(f"c{k} {name}" for k, name in enumerate(VALUES))
    await db.execute(f"CREATE TABLE async_values (id integer PRIMARY KEY, {columns})")
    for k, (name, (value, wanted)) in enumerate(VALUES.items()):
        await db.execute(f"INSERT INTO async_values (id, c{k}) VALUES ($1, $2)", k, value)
        found = await db.fetchval(f"SELECT c{k} FROM async_values WHERE id = $1", k)
        expect(f"{name} comes back", found == wanted, found)


async def check_statements(db):
    statement = await db.prepare("SELECT $1::integer + 1 AS x, $2::text AS y")
    expect("a prepared statement", [tuple(row) for row in await statement.fetch(1, "q")] == [(2, "q")])
    expect("its types", [p.name for p in statement.get_parameters()] == ["int4", "text"], statement.get_parameters())
    await db.executemany("INSERT INTO async_values (id, c0) VALUES ($1, $2)", [(1000 + k, k) for k in range(10)])
    expect("executemany", await db.fetchval("SELECT count(*) FROM async_values WHERE id >= 1000") == 10)
    error = await error_of(db.fetch("SELECT 1 / $1::integer", 0))
    expect("an error's class", isinstance(error, asyncpg.DivisionByZeroError) and error.sqlstate == "22012", error)
    error = await error_of(db.execute("INSERT INTO async_values (id) VALUES (1)"))
    expect("its detail", isinstance(error, asyncpg.UniqueViolationError) and error.detail == "Key (id)=(1) already exists.", error)


async def check_transactions(db):
    async with db.transaction(readonly=True):
        rows = [row[0] async for row in db.cursor("SELECT g FROM generate_series(1, 120) g ORDER BY g")]
        expect("a cursor of the protocol", rows == list(range(1, 121)), rows)
        cursor = await db.cursor("SELECT g FROM generate_series(1, 9) g ORDER BY g")
        first = [row[0] for row in await cursor.fetch(2)]
        rest = [row[0] for row in await cursor.fetch(100)]
        expect("a cursor by rows", first == [1, 2] and rest == list(range(3, 10)), (first, rest))
    try:
        async with db.transaction(readonly=True):
            await db.execute("DELETE FROM async_values")
        expect("a read-only transaction writes nothing", False)
    except asyncpg.ReadOnlySQLTransactionError:
        expect("a read-only transaction writes nothing", True)


async def check_copy(db):
    tag = await db.copy_to_table("async_values", source=io.BytesIO(b"2000\t5\n2001\t\\N\n"), columns=["id", "c0"])
    expect("copy_to_table", tag == "COPY 2", tag)
    out = io.BytesIO()
    await db.copy_from_query("SELECT id, c0 FROM async_values WHERE id >= $1 ORDER BY id", 2000, output=out)
    expect("copy_from_query", out.getvalue() == b"2000\t5\n2001\t\\N\n", out.getvalue())


async def check_cancel(db):
    slow = "SELECT count(*) FROM generate_series(1, 30000) a, generate_series(1, 30000) b, generate_series(1, 30000) c"
    try:
        await db.fetch(slow, timeout=0.5)  # asyncpg sends a CancelRequest then
        expect("a timeout cancels", False)
    except asyncio.TimeoutError:
        expect("a timeout cancels", True)
    expect("the connection lives on", await db.fetchval("SELECT 5") == 5)


async def main():
    where = dict(host="127.0.0.1", port=int(sys.argv[1]), user="async", database="scyper")
    db = await asyncpg.connect(**where)
    await check_values(db)
    await check_statements(db)
    await check_transactions(db)
    await check_copy(db)
    await check_cancel(db)
    await db.close()
    async with asyncpg.create_pool(min_size=2, max_size=2, **where) as pool:
        found = [await pool.fetchval("SELECT $1::integer", k) for k in range(4)]
        expect("a pool", found == [0, 1, 2, 3], found)
    sys.exit(CHECKS.finish())


asyncio.run(main())
