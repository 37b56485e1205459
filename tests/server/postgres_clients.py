#!/usr/bin/env python3
"""PostgreSQL's own clients against a node: psql, psycopg 3 and 2, the JDBC driver.

Usage: postgres_clients.py SCYPERD
Debian: postgresql-client-15, python3-psycopg, python3-psycopg2, libpostgresql-jdbc-java and a JDK. What is not installed
is skipped by name. Each check says what it found; the last line counts the failures, and so does the exit code.
"""
import datetime
import decimal
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid

from postgres_servers import CHECKS, Node, expect, optional

HERE = pathlib.Path(__file__).resolve().parent


def psql(node, *arguments, user="alice", database="scyper", text=None, env=()):
    """Exit code, output and errors of one psql."""
    environment = {**os.environ, "PGCONNECT_TIMEOUT": "30", **dict(env)}
    run = subprocess.run(["psql", "-X", "-h", "127.0.0.1", "-p", str(node.port), "-U", user, *arguments, database], input=text,
                         text=True, capture_output=True, timeout=120, env=environment, check=False)
    return run.returncode, run.stdout, run.stderr


SCHEMA = """
CREATE TABLE items (id integer PRIMARY KEY, name text, price numeric(12,3), made timestamptz, day date, u uuid, tags text[],
                    doc jsonb, data bytea, ratio double precision, ok boolean, big bigint);
CREATE INDEX items_name ON items (name);
CREATE VIEW cheap AS SELECT id, name FROM items WHERE price < 2;
CREATE TABLE orders (o_id integer, o_item integer NOT NULL REFERENCES items (id), amount integer DEFAULT 1 CHECK (amount > 0),
                     PRIMARY KEY (o_id));
CREATE PROCEDURE put(p_id integer, p_name text, INOUT p_count bigint) LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'putting %', p_id;
  INSERT INTO items (id, name) VALUES (p_id, p_name);
  SELECT count(*) INTO p_count FROM items;
END $$;
"""


def check_psql(node):
    code, out, err = psql(node, "-v", "ON_ERROR_STOP=1", text=SCHEMA)
    expect("psql runs a script", code == 0, err)
    code, out, err = psql(node, "-At", "-c", "INSERT INTO items (id, name, price) VALUES (1, 'one', 1.5), (2, NULL, 2.25)",
                          "-c", "SELECT id, name, price FROM items ORDER BY id")
    expect("psql reads what it wrote", out == "INSERT 0 2\n1|one|1.500\n2||2.250\n", (out, err))
    code, out, err = psql(node, "-At", "-c", "CALL put(3, 'three', 0)")
    expect("CALL gives its row and its notice", out == "3\n" and "NOTICE:  putting 3" in err, (out, err))
    code, out, err = psql(node, "-c", "SELECT 1;\nSELECT ä, nothing FROM items")
    expect("errors have positions in the whole text", "LINE 2: SELECT ä, nothing" in err, err)
    code, out, err = psql(node, "-v", "VERBOSITY=verbose", "-c", "INSERT INTO items (id) VALUES (1)")
    expect("errors have SQLSTATE and detail", "23505" in err and "DETAIL:  Key (id)=(1) already exists." in err, err)
    code, out, err = psql(node, "-At", text="BEGIN;\nSELECT 1/0;\nSELECT 1;\nCOMMIT;\nSELECT 2;\n")
    expect("a failed block ends by ROLLBACK", "current transaction is aborted" in err and out == "BEGIN\nROLLBACK\n2\n", (out, err))
    code, out, err = psql(node, "-At", text="BEGIN;\nUPDATE items SET name = 'x' WHERE id = 1 RETURNING name;\nROLLBACK;\nSELECT name FROM items WHERE id = 1;\n")
    expect("writing blocks are taken back", out == "BEGIN\nx\nUPDATE 1\nROLLBACK\none\n", (out, err))
    code, out, err = psql(node, "-At", "-v", "FETCH_COUNT=2", "-c", "SELECT 1", "-c", "\\conninfo", "-c", "SHOW scyper.freshness")
    expect("psql asks about its connection", "fresh" in out, (out, err))
    code, out, err = psql(node, "-c", "", database="nothing")
    expect("an unknown database is refused", code == 2 and 'database "nothing" does not exist' in err, err)
    code, out, err = psql(node, "-At", text="SET scyper.freshness = 'lsn:1';\nSELECT count(*) FROM items;\nSHOW scyper.receipt;\n"
                          "SET scyper.freshness = 'soon';\nSET TimeZone = 'Mars/Olympus';\nSET nothing = 1;\n")
    expect("freshness is a setting", "lsn " in out and "scyper.freshness" in err and "TimeZone" in err and
           'unrecognized configuration parameter "nothing"' in err, (out, err))
    code, out, err = psql(node, "-At", text="\\set AUTOCOMMIT off\nSELECT 1;\nSAVEPOINT a;\nSELECT 1/0;\nROLLBACK TO a;\nSELECT 3;\nCOMMIT;\n")
    expect("savepoints forgive errors", out.endswith("3\nCOMMIT\n"), (out, err))


def check_prepared_and_cursors(node):
    """PREPARE and cursors as statements: what PostgreSQL 15 answers to the same."""
    def answer(text):
        code, out, err = psql(node, "-At", "-v", "VERBOSITY=verbose", text=text)
        return out.split() + [line.split()[1].rstrip(":") for line in err.splitlines() if line.startswith("ERROR")]

    for text, wanted in (
            ("PREPARE p(int, text) AS SELECT $1 + 1, $2 || 'x'; EXECUTE p(1, 'a'); EXECUTE p(1 + 1, upper('b'));", "PREPARE 2|ax 3|Bx"),
            ("PREPARE p AS SELECT 1; PREPARE p AS SELECT 2; EXECUTE p(1); DEALLOCATE p; EXECUTE p;", "PREPARE DEALLOCATE 42P05 42601 26000"),
            ("PREPARE bad AS SELECT nothing FROM items;", "42703"),
            ("PREPARE put AS INSERT INTO orders (o_id, o_item) VALUES ($1, 1); EXECUTE put(7000); EXECUTE put(7000); DELETE FROM orders WHERE o_id = 7000;",
             "PREPARE INSERT 0 1 DELETE 1 23505"),
            ("DECLARE c CURSOR FOR SELECT 1; FETCH c; CLOSE c; CLOSE ALL;", "CLOSE CURSOR ALL 25P01 34000 34000"),
            ("BEGIN; DECLARE c CURSOR FOR SELECT g FROM generate_series(1, 6) g; FETCH c; FETCH 2 FROM c; MOVE 1 IN c; FETCH ALL c; FETCH c; CLOSE c; COMMIT;",
             "BEGIN DECLARE CURSOR 1 2 3 MOVE 1 5 6 CLOSE CURSOR COMMIT"),
            ("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT g FROM generate_series(1, 4) g ORDER BY g; FETCH LAST c; FETCH PRIOR c; FETCH ABSOLUTE 2 FROM c; "
             "FETCH RELATIVE -1 FROM c; FETCH ALL c; FETCH BACKWARD 2 FROM c; MOVE BACKWARD ALL IN c; FETCH c; COMMIT;",
             "BEGIN DECLARE CURSOR 4 3 2 1 2 3 4 4 3 MOVE 2 1 COMMIT"),
            ("BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT 1; FETCH c; FETCH PRIOR c; ROLLBACK;", "BEGIN DECLARE CURSOR 1 ROLLBACK 55000"),
            ("BEGIN; DECLARE c CURSOR FOR SELECT 1; DECLARE c CURSOR FOR SELECT 2; ROLLBACK;", "BEGIN DECLARE CURSOR ROLLBACK 42P03"),
            ("BEGIN; DECLARE c CURSOR FOR SELECT nothing; ROLLBACK;", "BEGIN ROLLBACK 42703"),
            ("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT 1; ROLLBACK; FETCH c;", "BEGIN DECLARE CURSOR ROLLBACK 34000"),
            ("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT 1; COMMIT; FETCH c; CLOSE c;", "BEGIN DECLARE CURSOR COMMIT 1 CLOSE CURSOR"),
            ("PREPARE p AS SELECT 1;\nSELECT statement FROM pg_prepared_statements;", "PREPARE PREPARE p AS SELECT 1;"),
            ("BEGIN;\nDECLARE c CURSOR FOR SELECT 1;\nSELECT statement FROM pg_cursors;\nCOMMIT;", "BEGIN DECLARE CURSOR DECLARE c CURSOR FOR SELECT 1; COMMIT"),
            ("PREPARE p(int, text) AS SELECT $1 + 1 AS a, $2 AS b; CREATE TABLE made AS EXECUTE p(7, 'it''s'); SELECT * FROM made; DROP TABLE made; "
             "CREATE TABLE made (c) AS EXECUTE p(1, '') WITH NO DATA; SELECT c FROM made; DROP TABLE made; CREATE TABLE made AS EXECUTE p; CREATE TABLE made AS EXECUTE nothing;",
             "PREPARE SELECT 1 8|it's DROP TABLE SELECT 0 DROP TABLE 42601 26000"),
            ("BEGIN READ ONLY; LOCK TABLE items IN ACCESS SHARE MODE; LOCK TABLE items; SELECT 1; COMMIT; LOCK TABLE items IN ACCESS SHARE MODE;",
             "BEGIN LOCK TABLE LOCK TABLE 1 COMMIT 25P01"),
            ("BEGIN READ ONLY; LOCK TABLE nothing IN ACCESS SHARE MODE; ROLLBACK;", "BEGIN ROLLBACK 42P01"),
            ("CREATE TYPE colour AS ENUM ('red'); BEGIN; ALTER TYPE colour ADD VALUE 'blue'; SAVEPOINT s; SELECT 'blue'::colour; ROLLBACK TO s; "
             "ALTER TYPE colour RENAME VALUE 'red' TO 'rose'; SELECT 'rose'::colour; ROLLBACK TO s; SELECT 'red'::colour; SELECT enum_range(NULL::colour); ROLLBACK TO s; COMMIT; "
             "SELECT enum_range(NULL::colour); BEGIN; ALTER TYPE colour ADD VALUE 'green'; ROLLBACK; SELECT enum_last(NULL::colour); DROP TYPE colour;",
             "CREATE TYPE BEGIN ALTER TYPE SAVEPOINT ROLLBACK ALTER TYPE rose ROLLBACK red ROLLBACK COMMIT {red,blue} BEGIN ALTER TYPE ROLLBACK blue DROP TYPE 55P04 55P04"),
            ("CREATE TABLE parents (id integer PRIMARY KEY); CREATE TABLE children (p integer CONSTRAINT k REFERENCES parents DEFERRABLE INITIALLY DEFERRED); BEGIN; "
             "INSERT INTO children VALUES (5); ALTER TABLE children RENAME CONSTRAINT k TO k2; COMMIT; SELECT count(*) FROM children; BEGIN; INSERT INTO children VALUES (5); "
             "ALTER TABLE children RENAME CONSTRAINT k TO k2; INSERT INTO parents VALUES (5); COMMIT; SELECT count(*) FROM children; DROP TABLE children, parents;",
             "CREATE TABLE CREATE TABLE BEGIN INSERT 0 1 ALTER TABLE 0 BEGIN INSERT 0 1 ALTER TABLE INSERT 0 1 COMMIT 1 DROP TABLE 23503")):
        found = answer(text)
        expect(text, " ".join(found) == wanted, found)


def check_psql_lists(node):
    """The backslash commands that list objects: what each must show."""
    shown = {"\\d": ["public|items|table|scyper", "public|cheap|view|scyper"], "\\dt": ["public|orders|table|scyper"],
             "\\dv": ["public|cheap|view|scyper"], "\\di": ["public|items_name|index|scyper|items"],
             "\\ds": ["public|numbers|sequence|scyper"], "\\l": ["scyper|scyper|UTF8|C|C||libc|"], "\\dn": ["public|scyper"],
             "\\df": ["public|put||IN p_id integer, IN p_name text, INOUT p_count bigint|proc",
                      "public|area|numeric|a integer, b integer DEFAULT 2|func",
                      "public|pairs|TABLE(x integer, y text)|n integer|func"],
             "\\du": ["scyper|Superuser, Create role, Create DB, Replication, Bypass RLS|{}"], "\\db": ["pg_default|scyper|"]}
    code, out, err = psql(node, "-c", "CREATE FUNCTION area(a integer, b integer DEFAULT 2) RETURNS numeric LANGUAGE sql AS 'SELECT a * b::numeric';"
                          "CREATE FUNCTION pairs(n integer) RETURNS TABLE (x integer, y text) LANGUAGE sql AS $$ SELECT n, 'y' $$;"
                          "CREATE SEQUENCE numbers")
    expect("functions for \\df", code == 0, err)
    for command, lines in shown.items():
        code, out, err = psql(node, "-At", "-c", command)
        expect(f"psql {command}", code == 0 and not err and all(line in out.splitlines() for line in lines), (out, err))
    code, out, err = psql(node, "-At", "-c", "SELECT pg_get_functiondef(oid) LIKE 'CREATE%area%', pg_get_function_arguments(0) "
                          "FROM pg_proc WHERE proname = 'area'")
    expect("definitions of functions", out == "t|\n", (out, err))


def check_jdbc(node):
    driver = pathlib.Path("/usr/share/java/postgresql.jar")
    if shutil.which("java") is None or not driver.exists():
        print("skip  JDBC: no java, or no libpostgresql-jdbc-java", flush=True)
        return
    run = subprocess.run(["java", "-cp", str(driver), str(HERE / "PostgresDriver.java"), str(node.port)], capture_output=True, text=True,
                         timeout=300, check=False)
    print(run.stdout, end="", flush=True)
    if "compiler" in run.stderr.lower() and run.returncode == 1 and not run.stdout:
        print("skip  JDBC: a runtime without a compiler", flush=True)
        return
    expect("the JDBC driver's script", run.returncode == 0, run.stderr[-1500:])


def check_declared_types(db):
    """Types that the client declares decide where the statement does not: operators, functions, results."""
    day = datetime.timedelta(days=1)
    wanted = [("-%s", [4], -4), ("%s * %s", [3, 4], 12), ("abs(%s)", [-4], 4), ("@ %s", [-5], 5), ("%s - %s", [datetime.date(2024, 1, 5), datetime.date(2024, 1, 1)], 4),
              ("~%s", [7], -8), ("%s %% %s", [7, 4], 3), ("sum(%s)", [5], 5), ("now() > now() - %s", [day], True), ("(SELECT count(*) FROM unnest(%s) u)", [[1, 2]], 2)]
    for expression, values, value in wanted:
        found = db.execute("SELECT " + expression, values).fetchone()[0]
        expect(f"psycopg: {expression} of declared types", found == value and type(found) is type(value), repr(found))


def check_error_fields(db, psycopg):
    """What a violated constraint is called, and where it is. Two tables have the same name, in two schemas."""
    db.execute("CREATE TABLE fields (id integer PRIMARY KEY)")
    db.execute("CREATE SCHEMA other")
    db.execute("""CREATE TABLE other.fields (id integer PRIMARY KEY, u integer UNIQUE, v integer NOT NULL CHECK (v > 0),
               r integer REFERENCES other.fields)""")
    db.execute("CREATE TABLE children (id integer REFERENCES fields)")
    for statement in ("INSERT INTO fields VALUES (1)", "INSERT INTO other.fields VALUES (1, 1, 1, 1)", "INSERT INTO children VALUES (1)"):
        db.execute(statement)
    wanted = [("INSERT INTO fields VALUES (1)", ("public", "fields", None, "fields_pkey")),
              ("INSERT INTO other.fields VALUES (1, 2, 1, 1)", ("other", "fields", None, "fields_pkey")),
              ("INSERT INTO other.fields VALUES (2, 1, 1, 1)", ("other", "fields", None, "fields_u_key")),
              ("INSERT INTO other.fields VALUES (3, 3, NULL, 1)", ("other", "fields", "v", None)),
              ("INSERT INTO other.fields VALUES (3, 3, -1, 1)", ("other", "fields", None, "fields_v_check")),
              ("INSERT INTO other.fields VALUES (3, 3, 1, 9)", ("other", "fields", None, "fields_r_fkey")),
              ("DELETE FROM fields", ("public", "children", None, "children_id_fkey"))]
    for statement, fields in wanted:
        try:
            db.execute(statement)
            found = None
        except psycopg.errors.IntegrityError as error:
            found = (error.diag.schema_name, error.diag.table_name, error.diag.column_name, error.diag.constraint_name)
        expect(f"psycopg: the error's fields of {statement}", found == fields, found)


def check_psycopg(node):
    psycopg = optional("psycopg")
    if psycopg is None:
        return
    where = f"host=127.0.0.1 port={node.port} user=alice dbname=scyper"
    with psycopg.connect(where, autocommit=True) as db:
        moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 250000, tzinfo=datetime.timezone.utc)
        row = dict(id=20, name="snö", price=decimal.Decimal("12345678.125"), made=moment, day=datetime.date(1999, 12, 31),
                   u=uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), tags=["a", None, "c,d"],
                   doc=psycopg.types.json.Jsonb({"k": [1, None]}), data=b"\x00\xff", ratio=-0.5, ok=True, big=1 << 40)
        columns = ", ".join(row)
        for binary in (False, True):
            place = ", ".join(("%b" if binary else "%s") for _ in row)
            if binary:  # the Jsonb and str dumpers have binary forms, numeric too
                row["id"] = 21
            db.execute(f"INSERT INTO items ({columns}) VALUES ({place})", list(row.values()))
            with db.cursor(binary=binary) as cursor:
                got = cursor.execute(f"SELECT {columns} FROM items WHERE id = %s", [row["id"]]).fetchone()
            wanted = [v.obj if name == "doc" else v for name, v in row.items()]
            for name, value, found in zip(row, wanted, got):
                expect(f"psycopg, {'binary' if binary else 'text'}: {name} comes back", found == value, repr(found))
        for k in range(12):  # prepared on the server from the fifth on
            got = db.execute("SELECT id, price FROM items WHERE id = %s AND name = %s", [20, "snö"], prepare=k > 2).fetchone()
            assert got == (20, decimal.Decimal("12345678.125")), got
        expect("psycopg: prepared statements", True)
        db.execute("DEALLOCATE ALL")
        got = db.execute("CALL put(%s, %s, %s)", [30, "thirty", None]).fetchone()
        expect("psycopg: CALL", got is not None and got[0] >= 5, got)
        with db.cursor() as cursor:
            cursor.executemany("INSERT INTO orders (o_id, o_item) VALUES (%s, %s)", [(k, 1) for k in range(50)])
            expect("psycopg: executemany", cursor.rowcount == 50, cursor.rowcount)
        with db.transaction():
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            before = db.execute("SELECT count(*) FROM orders").fetchone()
            with psycopg.connect(where, autocommit=True) as other:
                other.execute("INSERT INTO orders (o_id, o_item) VALUES (1000, 1)")
            after = db.execute("SELECT count(*) FROM orders").fetchone()
            expect("a block reads one snapshot", before == after == (50,), (before, after))
        expect("after it the next state", db.execute("SELECT count(*) FROM orders").fetchone() == (51,))
        with db.transaction(force_rollback=True):
            db.execute("DELETE FROM orders")
            expect("a block sees what it has written", db.execute("SELECT count(*) FROM orders").fetchone() == (0,))
        expect("until it is taken back", db.execute("SELECT count(*) FROM orders").fetchone() == (51,))
        try:
            db.execute("INSERT INTO orders (o_id, o_item) VALUES (2000, 77777)")
            expect("a broken rule has its SQLSTATE", False)
        except psycopg.errors.ForeignKeyViolation as error:
            expect("a broken rule has its SQLSTATE", "77777" in (error.diag.message_detail or ""), error.diag.message_detail)
        with db.pipeline():
            first = db.execute("SELECT 1")
            second = db.execute("SELECT 2")
        check_declared_types(db)
        check_error_fields(db, psycopg)
        expect("psycopg: pipelines", first.fetchone() == (1,) and second.fetchone() == (2,))
        with db.pipeline() as pipeline:
            bad = db.execute("SELECT 1/%s", [0])
            skipped = db.execute("SELECT 3")
            errors = 0
            for one in (bad, skipped):
                try:
                    one.fetchone()
                except psycopg.Error as error:
                    errors += 1
            try:
                pipeline.sync()
            except psycopg.Error:
                pass
        expect("an error in a pipeline skips up to its Sync", errors == 2, errors)
        expect("and the connection lives", db.execute("SELECT 4").fetchone() == (4,))
        check_cancel(psycopg, db)
    with psycopg.connect(where) as db:  # without autocommit: every SELECT begins a block
        expect("psycopg's default: reads in blocks", db.execute("SELECT count(*) FROM orders").fetchone()[0] == 51)


def check_cancel(psycopg, db):
    """A CancelRequest ends the statement that runs, with 57014, and not the connection."""
    is_over = threading.Event()

    def cancel():  # until it has hit: before the statement runs it means nothing
        while not is_over.wait(0.2):
            db.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        db.execute("SELECT count(*) FROM generate_series(1, 30000) a, generate_series(1, 30000) b, generate_series(1, 30000) c")
        expect("a query is cancelled", False)
    except psycopg.errors.QueryCanceled:
        expect("a query is cancelled", True)
    is_over.set()
    canceller.join()
    db.execute("SET statement_timeout = '200ms'")
    try:
        db.execute("SELECT count(*) FROM generate_series(1, 30000) a, generate_series(1, 30000) b, generate_series(1, 30000) c")
        expect("statement_timeout", False)
    except psycopg.errors.QueryCanceled:
        expect("statement_timeout", True)
    db.execute("RESET statement_timeout")
    expect("the connection lives on", db.execute("SHOW statement_timeout").fetchone() == ("0",))


def check_psycopg2(node):
    psycopg2 = optional("psycopg2")
    if psycopg2 is None:
        return
    db = psycopg2.connect(host="127.0.0.1", port=node.port, user="alice", dbname="scyper")
    db.autocommit = True
    with db.cursor() as cursor:
        cursor.execute("SELECT id, price, made, tags FROM items WHERE id = %s", (20,))
        expect("psycopg2 reads values", cursor.fetchone()[1] == decimal.Decimal("12345678.125"))
        cursor.execute("INSERT INTO orders (o_id, o_item, amount) VALUES (%s, %s, %s)", (3000, 1, 5))
        expect("psycopg2 writes", cursor.rowcount == 1 and cursor.statusmessage == "INSERT 0 1", cursor.statusmessage)
    db.set_session(readonly=True, autocommit=True)
    with db.cursor() as cursor:
        try:
            cursor.execute("DELETE FROM orders")
            expect("a read-only session writes nothing", False)
        except psycopg2.errors.ReadOnlySqlTransaction:
            expect("a read-only session writes nothing", True)
    db.close()


def check_passwords(program):
    with tempfile.TemporaryDirectory() as folder:
        users = pathlib.Path(folder) / "users"
        users.write_text("# who may come\nalice:se cret\n"
                         "bob:SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
                         "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=\n", encoding="utf-8")
        users.chmod(0o644)
        refused = subprocess.run([program, "--listen", "127.0.0.1:0", "--http-listen", "", "--postgres-listen", "127.0.0.1:0",
                                  "--postgres-users", users], capture_output=True, text=True, timeout=60, check=False)
        expect("a file of users that others may read is refused", refused.returncode != 0 and "chmod 600" in refused.stderr,
               refused.stderr)
        expect("and its secrets are not told", "cret" not in refused.stderr + refused.stdout)
        users.chmod(0o600)
        node = Node(program, "--postgres-users", str(users))
        for user, password, is_right in (("alice", "se cret", True), ("bob", "pencil", True), ("alice", "pencil", False),
                                         ("mallory", "se cret", False), ("alice", "", False)):
            code, out, err = psql(node, "-At", "-c", "SELECT 1", user=user, env={"PGPASSWORD": password})
            is_told = "password" in err
            expect(f"SCRAM: {user} with {password!r} is {'let in' if is_right else 'refused'}",
                   (code == 0 and out == "1\n") if is_right else (code == 2 and is_told), (code, out, err))
        node.stop()


def check_tls(program):
    if shutil.which("openssl") is None:
        print("skip  TLS: no openssl", flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        cert, key, users = (str(pathlib.Path(folder) / name) for name in ("cert.pem", "key.pem", "users"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                        "-out", cert, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)
        pathlib.Path(users).write_text("alice:secret\n", encoding="utf-8")
        os.chmod(users, 0o600)
        node = Node(program, "--tls-cert", cert, "--tls-key", key, "--postgres-users", users)
        secret = {"PGPASSWORD": "secret"}
        for mode, is_right in (("disable", False), ("require", True), ("verify-full", True)):
            code, out, err = psql(node, "-At", "-c", "SELECT 1", env={**secret, "PGSSLMODE": mode, "PGSSLROOTCERT": cert})
            expect(f"TLS, sslmode={mode}", (code == 0) == is_right, (out, err))
        code, out, err = psql(node, "-At", "-c", "SELECT 1", env={**secret, "PGSSLMODE": "require", "PGCHANNELBINDING": "require"})
        expect("SCRAM is bound to the TLS connection", code == 0, err)
        code, out, err = psql(node, "-At", "-c", "SELECT repeat('x', 1000000)", env={**secret, "PGSSLMODE": "require"})
        expect("large rows by TLS", len(out) == 1000001, (len(out), err))
        node.stop()


def main():
    program = sys.argv[1]
    if shutil.which("psql") is None:
        print("skip  no psql")
        return 0
    node = Node(program)
    check_psql(node)
    check_prepared_and_cursors(node)
    check_psql_lists(node)
    check_psycopg(node)
    check_psycopg2(node)
    check_jdbc(node)
    expect("the node stops", node.stop() == 0)
    check_passwords(program)
    check_tls(program)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
