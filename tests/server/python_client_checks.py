"""Checks of the Python package `scyper`, which python_client.py has installed: python_client_checks.py SCYPERD SCYPER QUICKSTART."""
import contextlib
import datetime
import decimal
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, PATIENCE_S, expect, run, wait_for
from relay import Relay

import scyper
from scyper import DataError, IntegrityError, InterfaceError, NotSupportedError, OutcomeUnknown, ProgrammingError, QueryCanceled

D = decimal.Decimal
UTC = datetime.timezone.utc


def raises(what, kind, state, call):
    try:
        found = call()
    except scyper.Error as error:
        expect(what, type(error) is kind and error.sqlstate == state, f"{type(error).__name__} {error}")
        return error
    expect(what, False, f"no error but {found!r}")
    return scyper.Error()


@contextlib.contextmanager
def node(scyperd, *flags, host="127.0.0.1"):
    """The target of a node of its own."""
    process = subprocess.Popen([scyperd, "--listen", f"{host}:0", "--http-listen", "", "--partitions", "2", "--workers", "1", "--memory", "1GB",
                                *map(str, flags)], stdout=subprocess.PIPE, text=True)
    try:
        line = next((line for line in process.stdout if "gRPC on port" in line), "")
        yield f"{host}:" + re.search(r"gRPC on port (\d+)", line)[1]
    finally:
        process.terminate()
        expect("the node stops", process.wait(timeout=PATIENCE_S) == 0)


# --- values ---

COLUMNS = [
    ("boolean", True), ("smallint", -7), ("integer", 1 << 30), ("bigint", -(1 << 62)), ("double precision", 0.1), ("real", 0.5), ("numeric(12,2)", D("-12.50")),
    ("numeric", D("12345678901234567890.0123456789")), ("char(3)", "ab "), ("varchar(10)", "grüße"), ("text", ""), ("date", datetime.date(1999, 12, 31)),
    ("timestamp", datetime.datetime(2026, 2, 28, 23, 59, 59, 999999)), ("timestamptz", datetime.datetime(1970, 1, 1, tzinfo=UTC)),
    ("time", datetime.time(23, 59, 59, 1)), ("uuid", uuid.UUID(int=1 << 120)), ("bytea", b"\x00\xff"), ("jsonb", {"a": [1, None, "x"]}),
    ("integer[]", [1, None, 3]), ("text[]", []), ("numeric(6,1)[]", [D("1.5")]),
]  # fmt: skip


def check_values(db):
    names = [f"c{i}" for i in range(len(COLUMNS))]
    db.execute(f"CREATE TABLE v (id integer PRIMARY KEY, {', '.join(f'{n} {t}' for n, (t, _) in zip(names, COLUMNS))})")
    values = [value for _, value in COLUMNS]
    insert = f"INSERT INTO v VALUES ($1, {', '.join(f'${i + 2}' for i in range(len(values)))})"
    expect("a row of all types goes in", db.call(insert, 1, *values).affected_rows == 1)
    expect("and one of NULLs", db.call(insert, 2, *[None] * len(values)).command_tag == "INSERT 0 1")
    select = f"SELECT {', '.join(names)} FROM v ORDER BY id"
    wanted = [tuple(values), (None,) * len(values)]
    for way, found in (("a call", db.call(select).rows), ("a query", db.query(select).all()), ("a script", db.execute(select)[0].rows)):
        wrong = [(COLUMNS[i][0], a, b) for got, want in zip(found, wanted) for i, (a, b) in enumerate(zip(got, want)) if a != b or type(a) is not type(b)]
        expect(f"they come back by {way}", len(found) == 2 and not wrong, wrong)
    expect("columns say what SQL says", [c.declared.id.name for c in db.query(select).columns][15:19] == ["UUID", "BYTEA", "JSONB", "ARRAY"])
    long = D("9" * 60 + ".5")
    expect("long numerics, NaN, infinity", str(db.query("SELECT $1::numeric, 'NaN'::numeric, '-Infinity'::numeric", long).one()) == str((long, D("NaN"), D("-Infinity"))))
    expect("an interval", db.query("SELECT $1::interval", datetime.timedelta(days=1, seconds=2)).scalar() == "1 day 00:00:02")
    raises("text for a number", ProgrammingError, "42804", lambda: db.call("INSERT INTO v (id) VALUES ($1)", "x"))
    raises("a boolean for a number", ProgrammingError, "42804", lambda: db.query("SELECT $1::integer", True).all())
    raises("a number out of range", DataError, "22003", lambda: db.call("INSERT INTO v (id) VALUES ($1)", 1 << 40))
    raises("too few arguments", ProgrammingError, "08P01", lambda: db.query("SELECT $1::integer + $2::integer", 1))
    raises("a naive timestamp with time zone", ProgrammingError, "42804", lambda: db.call("INSERT INTO v (c13, id) VALUES ($1, 3)", datetime.datetime.now()))
    raises("a year that Python does not have", DataError, "22008", lambda: db.query("SELECT date '10000-01-01'").all())
    raises("a lone surrogate", DataError, "22021", lambda: db.query("SELECT $1::text", "\ud800"))
    raises("a zero in a text", DataError, "22021", lambda: db.query("SELECT $1::text", "a\0"))


def check_arrow(db):
    import pyarrow as pa

    names = [f"c{i}" for i in range(len(COLUMNS))]
    query = f"SELECT {', '.join(names)} FROM v ORDER BY id"
    table = db.query(query).arrow()
    shown = [str(uuid.UUID(int=1 << 120)), b"\x00\xff", '{"a": [1, null, "x"]}']
    wanted = [value for _, value in COLUMNS[:15]] + shown + [value for _, value in COLUMNS[18:]]
    found = [column[0].as_py() for column in table.columns]
    expect("Arrow has the same values", found == wanted, [(a, b) for a, b in zip(found, wanted) if a != b])
    expect("and NULLs", all(column[1].as_py() is None and column.null_count == 1 for column in table.columns))
    kinds = [str(field.type) for field in table.schema]
    expect("of Arrow's types", kinds[:8] == ["bool", "int16", "int32", "int64", "double", "float", "decimal128(12, 2)", "decimal128(38, 10)"] and
           kinds[11:17] == ["date32[day]", "timestamp[us]", "timestamp[us, tz=UTC]", "time64[us]", "string", "binary"], kinds)
    table.validate(full=True)
    many = """SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE i::text END t, i / 7.0 q, (i - 50000) * 0.01 d, i % 2 = 0 b,
              date '2000-01-01' + i::integer % 1000 AS day FROM generate_series(1, 100000) g(i)"""
    table, rows = db.query(many).arrow(), db.query(many).all()
    table.validate(full=True)
    expect("100,000 rows are the same as rows and by Arrow", table.num_rows == 100000 and list(zip(*(c.to_pylist() for c in table.columns))) == rows)
    batches = db.query(many).record_batches()
    streamed = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    expect("and streamed", streamed == rows and batches.schema.field("q").type == pa.decimal256(76, 38), batches.schema)
    expect("numerics as doubles", db.query(many).arrow(numeric="float").column("q").to_pylist() == [float(row[2]) for row in rows])
    expect("numerics as text", db.query("SELECT 1.50, 'NaN'::numeric").arrow(numeric="text").to_pylist()[0] == {"?column?": "1.50", "numeric": "NaN"})
    raises("NaN as a decimal", DataError, "22003", lambda: db.query("SELECT 'NaN'::numeric").arrow())
    expect("no rows", db.query("SELECT 1 a, 1.5 b WHERE false").arrow().num_rows == 0)
    frame = db.query("SELECT i, i * 0.5 h FROM generate_series(1, 4) g(i)").pandas()
    expect("pandas", frame["h"].sum() == 5.0 and list(frame.columns) == ["i", "h"], frame)


# --- transactions ---


def check_calls(db, target):
    db.execute("CREATE TABLE c (id integer PRIMARY KEY, n integer NOT NULL CHECK (n < 5))")
    done = db.call("INSERT INTO c VALUES ($1, $2) RETURNING id, n", 1, 2)
    expect("rows, tag, columns of a call", (done.one(), done.command_tag, [c.name for c in done.columns]) == ((1, 2), "INSERT 0 1", ["id", "n"]), done)
    error = raises("a duplicate key", IntegrityError, "23505", lambda: db.call("INSERT INTO c VALUES ($1, $2)", 1, 2))
    expect("with its detail", error.detail == "Key (id)=(1) already exists." and "DETAIL:" in str(error), error.detail)
    error = raises("a syntax error", ProgrammingError, "42601", lambda: db.call("SELEC 1"))
    expect("with its position", error.position == 1, error.position)
    raises("what is not there yet", NotSupportedError, "0A000", lambda: db.execute("LISTEN x"))
    notices = db.execute("DO $$ BEGIN RAISE NOTICE 'hello %', 1; END $$")[0].notices
    expect("notices", any("hello 1" in notice for notice in notices), notices)
    db.execute("CREATE PROCEDURE add_to(p_id integer, p_n integer) AS $$ BEGIN UPDATE c SET n = n + p_n WHERE id = p_id; END $$ LANGUAGE plpgsql")
    expect("a procedure", db.call("CALL add_to($1, $2)", 1, 1).command_tag == "CALL" and db.query("SELECT n FROM c").scalar() == 3)
    raises("an error within it", IntegrityError, "23514", lambda: db.call("CALL add_to($1, $2)", 1, 9))
    loop = "DO $$ BEGIN LOOP NULL; END LOOP; END $$"
    raises("a call whose time is over", OutcomeUnknown, "40003", lambda: db.call(loop, timeout=0.3))
    raises("a query whose time is over", QueryCanceled, "57014",
           lambda: db.query("SELECT count(*) FROM generate_series(1, 100000) a(i), generate_series(1, 100000) b(j) WHERE i + j < 0", timeout=0.3).all())
    raises("a timeout of 0", InterfaceError, None, lambda: db.call("SELECT 1", timeout=0))
    slow = "DO $$ BEGIN PERFORM count(*) FROM generate_series(1, 3000000); UPDATE c SET n = 1; END $$"
    patient = scyper.connect(target, attempt=0.01)
    expect("an attempt that is too short for a call grows", patient.call(slow).command_tag == "DO")
    with patient.pipeline() as pipeline:
        expect("on a stream, too", pipeline.call(slow).result().command_tag == "DO")
    patient.close()


def check_pipeline(db):
    db.execute("CREATE TABLE p (id integer PRIMARY KEY, t text)")
    with db.pipeline(window=500) as pipeline:
        futures = [pipeline.call("INSERT INTO p VALUES ($1, $2) RETURNING id", i % 1000, "x") for i in range(2000)]
        large = pipeline.call("INSERT INTO p VALUES ($1, $2)", -1, "y" * (5 << 20))
        after = pipeline.call("SELECT count(*) FROM p")
        raises("wrong arguments raise at once", ProgrammingError, "42804", lambda: pipeline.call("INSERT INTO p VALUES ($1, $2)", "a", "b"))
    expect("each call has its own row", [f.result().scalar() for f in futures[:1000]] == list(range(1000)))
    expect("or its own error", {f.exception().sqlstate for f in futures[1000:]} == {"23505"})
    raises("one that is larger than messages may be", scyper.OperationalError, "54000", large.result)
    expect("does not take others with it", after.result().scalar() == 1000, after.exception())
    expect("call_many", [r.scalar() for r in db.call_many("SELECT $1::integer * 2", [(i,) for i in range(10)])] == list(range(0, 20, 2)))
    raises("call_many raises", IntegrityError, "23505", lambda: db.call_many("INSERT INTO p VALUES ($1, 'z')", [(5000,), (1,), (5001,)]))
    expect("when all are done", db.query("SELECT count(*) FROM p WHERE t = 'z'").scalar() == 2)
    with db.pipeline() as pipeline:
        late = pipeline.call("DO $$ BEGIN LOOP NULL; END LOOP; END $$", timeout=0.3)
    expect("a call of a stream whose time is over", late.exception().sqlstate in ("57014", "40003"), late.exception())
    raises("a pipeline that is closed", InterfaceError, None, lambda: pipeline.call("SELECT 1"))


def check_done_once(db, target):
    """The node does a call, and its answer is lost."""
    db.execute("CREATE TABLE o (id integer PRIMARY KEY, n integer); INSERT INTO o VALUES (1, 0)")
    bump = "UPDATE o SET n = n + $1 RETURNING n"
    count = "SELECT n FROM o"
    relay = Relay(target)
    with scyper.connect(relay.target) as cut, cut.pipeline() as pipeline:
        expect("a call through the relay", cut.call(bump, 1).scalar() == 1 and pipeline.call(bump, 1).result().scalar() == 2)
        found = []
        for way, call in (("a call", lambda: found.append(cut.call(bump, 1).scalar())), ("a call on a stream", lambda: found.append(pipeline.call(bump, 1).result().scalar()))):
            before = db.query(count).scalar()
            relay.swallows = True
            caller = threading.Thread(target=call)
            caller.start()
            wait_for("the node has done it", lambda: db.query(count).scalar() == before + 1)
            relay.cut()
            caller.join(PATIENCE_S)
            expect(f"{way} whose answer was lost is answered and done once", found[-1:] == [before + 1] and db.query(count).scalar() == before + 1, found)
        relay.swallows = True
        raises("without any answer nobody knows", OutcomeUnknown, "40003", lambda: cut.call(bump, 1, timeout=0.5))
        relay.cut()
        cut.execute("SELECT 1")
        relay.swallows = True
        raises("nor does a script's client", OutcomeUnknown, "40003", lambda: cut.execute("SELECT 1", timeout=0.5))
        relay.cut()
    relay.listener.close()


# --- queries ---


def check_queries(db):
    db.execute("CREATE TABLE q (id integer PRIMARY KEY)")
    raises("a query does not write", scyper.InternalError, "25006", lambda: db.query("INSERT INTO q VALUES (1)"))
    raises("nor with arguments", NotSupportedError, "0A000", lambda: db.query("INSERT INTO q VALUES ($1)", 1))
    db.execute("CREATE FUNCTION sly() RETURNS integer AS $$ BEGIN INSERT INTO q VALUES (1); RETURN 1; END $$ LANGUAGE plpgsql")
    raises("nor by a function", scyper.InternalError, "25006", lambda: db.query("SELECT sly()").all())
    raises("a query is one statement", ProgrammingError, "42601", lambda: db.query("SELECT 1; SELECT 2").all())
    expect("nothing was written", db.query("SELECT count(*) FROM q").scalar() == 0)
    rows = db.query("SELECT id FROM q GROUP BY id")  # no short read, which needs no snapshot
    raises("no receipt before the end", InterfaceError, None, lambda: rows.receipt)
    rows.all()
    receipt = rows.receipt
    expect("a receipt behind it", receipt.lsn > 0 and receipt.age_ms >= 0 and receipt.snapshot > 0, receipt)
    raises("rows are read once", InterfaceError, None, rows.all)
    with db.session() as session:
        for i in range(3):
            db.call("INSERT INTO q VALUES ($1)", i)
        expect("a session keeps its snapshot", session.query("SELECT count(*) FROM q WHERE id >= $1", 0).scalar() == 0 and db.query("SELECT count(*) FROM q").scalar() == 3)
        again = session.query("SELECT 1")
        again.all()
        expect("and says which", again.receipt.snapshot == session.receipt.snapshot, (again.receipt, session.receipt))
    raises("a closed session", InterfaceError, None, lambda: session.query("SELECT 1"))
    relaxed = db.query("SELECT 1", freshness=scyper.Staleness(3600.0))
    relaxed.all()
    later = db.query("SELECT count(*) FROM q", freshness=scyper.AtLeast(relaxed.receipt.lsn))
    expect("freshness by LSN", later.scalar() >= 0 and later.receipt.lsn >= relaxed.receipt.lsn, later)
    raises("a wish that is none", InterfaceError, None, lambda: db.query("SELECT 1", freshness="now"))
    with db.query("SELECT i FROM generate_series(1, 5000000) g(i)") as rows:
        expect("rows come before all are there", next(iter(rows)) == (1,))
    expect("a reader that leaves ends its query", wait_for("no query runs", lambda: db.status().message.queries.running == 0))
    raises("an error behind the first rows", DataError, "22012", lambda: db.query("SELECT 1 / (200000 - i) FROM generate_series(1, 300000) g(i)").all())
    status = db.status()
    expect("status", status.role == "primary" and status.version != "", status)


def check_transactions(db, target):
    """Several statements as one transaction."""
    db.execute("CREATE TABLE x (id integer PRIMARY KEY, n numeric(8,2), t text)")

    def count():
        return db.call("SELECT count(*) FROM x").scalar()

    with db.transaction() as transaction:
        made = transaction.execute("INSERT INTO x VALUES ($1, $2, $3), (2, NULL, 'two') RETURNING id, n", 1, D("1.50"), "one")
        expect("rows, tag, columns in a transaction", (made.rows, made.command_tag, [c.name for c in made.columns]) == ([(1, D("1.50")), (2, None)], "INSERT 0 2", ["id", "n"]), made)
        expect("it sees its own", transaction.execute("SELECT t FROM x WHERE id = $1", 1).scalar() == "one")
        expect("others do not", count() == 0)
    expect("the end of its with commits", count() == 2 and not transaction.is_open)
    raises("it is over", InterfaceError, None, lambda: transaction.execute("SELECT 1"))
    with contextlib.suppress(ZeroDivisionError), db.transaction() as transaction:
        transaction.execute("DELETE FROM x")
        raise ZeroDivisionError
    expect("an exception takes it back", count() == 2)
    with db.transaction() as transaction:
        with contextlib.suppress(IntegrityError), transaction.savepoint():
            transaction.execute("INSERT INTO x VALUES (3)")
            transaction.execute("INSERT INTO x VALUES (1)")
        expect("a savepoint forgives", not transaction.has_failed and transaction.execute("SELECT count(*) FROM x").scalar() == 2)
        transaction.execute("INSERT INTO x VALUES (4)")
    expect("and the rest commits", count() == 3)
    transaction = db.transaction()
    raises("an error", IntegrityError, "23505", lambda: transaction.execute("INSERT INTO x VALUES (1)"))
    raises("fails it", scyper.InternalError, "25P02", lambda: transaction.execute("SELECT 1"))
    expect("as it says", transaction.has_failed)
    raises("so it cannot commit", scyper.OperationalError, "40000", transaction.commit)
    with db.transaction(isolation="serializable", read_only=True, settings={"app.tenant": "a"}) as transaction:
        shown = [transaction.execute(f"SHOW {name}").scalar() for name in ("transaction_isolation", "transaction_read_only", "app.tenant")]
        expect("modes and settings", shown == ["serializable", "on", "a"], shown)
        raises("it only reads", scyper.InternalError, "25006", lambda: transaction.execute("DELETE FROM x"))
        transaction.rollback()
    with db.transaction() as transaction:
        copied = transaction.copy("COPY x FROM STDIN", "20\t1.25\tcopied\n21\t\\N\t\\N\n")
        expect("COPY in a transaction", copied.command_tag == "COPY 2" and transaction.execute("SELECT t FROM x WHERE id = 20").scalar() == "copied", copied)
        transaction.execute("DECLARE c CURSOR FOR SELECT id FROM x WHERE id >= 20 ORDER BY id")
        expect("a cursor", transaction.execute("FETCH 1 FROM c").rows == [(20,)] and transaction.execute("FETCH ALL FROM c").rows == [(21,)])
        transaction.rollback()
    copied = db.copy("COPY x (id, t) FROM STDIN (FORMAT csv)", (f"{i},{'x' * 50}\n" for i in range(1000, 6000)))
    expect("COPY from a generator", copied.command_tag == "COPY 5000" and db.call("SELECT count(*) FROM x WHERE id >= 1000").scalar() == 5000, copied)
    raises("COPY with an error", IntegrityError, "23505", lambda: db.copy("COPY x (id) FROM STDIN", io.BytesIO(b"7000\n1000\n")))
    expect("does nothing", db.call("DELETE FROM x WHERE id >= 1000").command_tag == "DELETE 5000")
    raises("no level", InterfaceError, None, lambda: db.transaction(isolation="chaos"))
    with db.transaction() as transaction:
        raises("wrong arguments", ProgrammingError, "42804", lambda: transaction.execute("INSERT INTO x (id) VALUES ($1)", "x"))
        transaction.rollback()
    with db.transaction() as transaction:
        with contextlib.suppress(QueryCanceled), transaction.savepoint():
            transaction.execute("DO $$ BEGIN LOOP NULL; END LOOP; END $$", timeout=0.2)
        timer = threading.Timer(0.3, transaction.cancel)
        timer.start()
        with contextlib.suppress(QueryCanceled), transaction.savepoint():
            transaction.execute("DO $$ BEGIN LOOP NULL; END LOOP; END $$")
        timer.join()
        expect("timeouts and cancels end the statement alone", transaction.execute("SELECT 1").scalar() == 1)
    first, second = db.transaction(), db.transaction(settings={"lock_timeout": "200ms"})
    first.execute("UPDATE x SET t = 'first' WHERE id = 1")
    raises("others wait for its rows", scyper.OperationalError, "55P03", lambda: second.execute("UPDATE x SET t = 'second' WHERE id = 1"))
    second.rollback()
    first.commit()
    check_lost_transactions(db, target)


def check_lost_transactions(db, target):
    relay = Relay(target)
    with scyper.connect(relay.target, attempt=5.0) as far:
        transaction = far.transaction()
        transaction.execute("INSERT INTO x VALUES (10)")
        relay.cut()
        raises("a lost transaction", scyper.ConnectionFailed, "08006", lambda: transaction.execute("SELECT 1"))
        wait_for("is taken back", lambda: db.call("INSERT INTO x VALUES (10)").command_tag == "INSERT 0 1")
        transaction = far.transaction()
        transaction.execute("INSERT INTO x VALUES (11)")
        relay.swallows = True
        found = []
        committing = threading.Thread(target=lambda: found.append(raises("a commit without an answer", OutcomeUnknown, "40003", transaction.commit)))
        committing.start()
        wait_for("it is done all the same", lambda: db.call("SELECT count(*) FROM x WHERE id = 11").scalar() == 1)
        relay.cut()
        committing.join(PATIENCE_S)
        expect("it ends", len(found) == 1)
    relay.listener.close()


def check_tls(scyperd, scyper_program, directory):
    made = pathlib.Path(directory) / "certificates"
    run(scyper_program, "certs", made, "--node", "node", "--client", "ada")
    run(scyper_program, "certs", made / "other", "--client", "eve")
    with node(scyperd, "--tls-cert", made / "node.pem", "--tls-key", made / "node.key", "--tls-client-ca", made / "ca.pem", host="localhost") as target:
        ca = str(made / "ca.pem")
        with scyper.connect(target, tls=scyper.TLS(ca, str(made / "ada.pem"), str(made / "ada.key"))) as db:
            expect("mTLS", db.call("SELECT 1").scalar() == 1)
        eve = scyper.TLS(ca, str(made / "other" / "eve.pem"), str(made / "other" / "eve.key"))
        for who, tls in (("another authority's", eve), ("nobody's", scyper.TLS(ca)), ("plain text", None)):
            # with TLS 1.3 a client learns of a refusal after its own handshake
            raises(f"{who} is refused", scyper.ConnectionFailed, "08001" if tls is None else None, lambda tls=tls: refused(target, tls))
    raises("a certificate without a key", InterfaceError, None, lambda: scyper.connect("127.0.0.1:1", tls=scyper.TLS(ca, cert=ca)))
    raises("no such file", InterfaceError, None, lambda: scyper.connect("127.0.0.1:1", tls=scyper.TLS("/nonexistent")))


def refused(target, tls):
    try:
        with scyper.connect(target, tls=tls) as db:
            db.call("SELECT 1", timeout=1.0)
    except scyper.ConnectionFailed as error:
        if tls is not None:
            error.sqlstate = None
        raise


def check_cluster(program, directory):
    """Three nodes that elect their primary, which is killed in the middle of calls."""
    playground = subprocess.Popen([program, "playground", "--elect", "--port", "0", "--directory", pathlib.Path(directory) / "cluster", "--memory", "256MB",
                                   "--commit-mode", "quorum_durable"], stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        for line in playground.stdout:
            text += line
            if "etcdctl" in line:
                break
        targets = re.findall(r"(127\.0\.0\.1:\d+) \(n", text)
        pid = re.search(r"kill -9 (\d+)", text)
        expect("a cluster of three", len(targets) == 3 and pid is not None, text)
        if pid is not None:
            check_failover(targets, int(pid[1]))
    finally:
        playground.terminate()
        playground.wait(timeout=PATIENCE_S)


def check_failover(targets, pid):
    primary, *others = targets
    calls = 600
    with scyper.connect(others, timeout=PATIENCE_S) as db:
        db.execute("CREATE TABLE f (id integer PRIMARY KEY); CREATE TABLE k (id integer PRIMARY KEY, n integer); INSERT INTO k VALUES (1, 0)")
        expect("hints lead to the primary", db.primary == primary, db.primary)
        session = db.session()
        expect("sessions on two nodes share a snapshot", session.target in others and db.session(freshness=session.ticket, target=others[1]).receipt.lsn == session.receipt.lsn)
        db.execute("CREATE PROCEDURE once(p_id integer) AS $$ BEGIN INSERT INTO f VALUES (p_id); UPDATE k SET n = n + 1 WHERE id = 1; END $$ LANGUAGE plpgsql")
        alone = threading.Thread(target=lambda: [db.call("CALL once($1)", calls + i) for i in range(100)])
        with db.pipeline(window=50) as pipeline:
            alone.start()
            futures = []
            for i in range(calls):
                if i == calls // 3:
                    os.kill(pid, signal.SIGKILL)
                futures.append(pipeline.call("CALL once($1)", i))
        alone.join(PATIENCE_S)
        errors = [str(f.exception()) for f in futures if f.exception() is not None]
        expect("all calls are done in spite of the primary's death", not errors and not alone.is_alive(), errors[:3])
        expect("each once", db.call("SELECT (SELECT count(*) FROM f), n FROM k").one() == (calls + 100, calls + 100))
        expect("by another primary", db.primary in others, db.primary)
        rows = db.query("SELECT count(*) FROM f")
        expect("queries go on", rows.scalar() == calls + 100 and rows.receipt.node != "", rows)


def main():
    scyperd, program, quickstart = sys.argv[1:]
    raises("nobody listens", scyper.ConnectionFailed, "08001", lambda: scyper.connect("127.0.0.1:1"))
    raises("no target", InterfaceError, None, lambda: scyper.connect(" , "))
    with tempfile.TemporaryDirectory() as directory:
        with node(scyperd) as target:
            with scyper.connect(["127.0.0.1:1", target]) as db:
                for check in (check_values, check_arrow, check_pipeline, check_queries):
                    check(db)
                for check in (check_calls, check_done_once, check_transactions):
                    check(db, target)
            raises("a closed connection", InterfaceError, None, lambda: db.call("SELECT 1"))
            code, out = run(sys.executable, quickstart, target)
            expect("the example", code == 0 and "still the same: True" in out and "left over: 47.50" in out, out)
        check_tls(scyperd, program, directory)
        check_cluster(program, directory)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
