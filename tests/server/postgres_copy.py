#!/usr/bin/env python3
"""COPY over PostgreSQL's protocol: a node and PostgreSQL 15 get the same and must answer the same.

Usage: postgres_copy.py SCYPERD
Scripts go through psql, dialogues are messages of the protocol, byte by byte; psycopg 3 where it is installed. Debian:
postgresql-15, postgresql-client-15, python3-psycopg. Each check says what it found; the exit code counts the failures.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from postgres_servers import CHECKS, PATIENCE_S, Node, Postgres, expect


def psql(server, text, *arguments):
    """Output and errors of one psql. Of those only what both say: here errors name no objects, CONTEXT has no text of a row that
    a rule refuses, and none of routines; rows that failed draw no numbers."""
    run = subprocess.run(["psql", "-X", "-v", "VERBOSITY=verbose", *arguments, server.conninfo], input=text, text=True,
                         capture_output=True, timeout=PATIENCE_S, env={**os.environ, "LC_ALL": "C"}, check=False)
    errors = re.sub(r"(?m)^((LOCATION|\w+ NAME):|DETAIL:  Failing row contains).*\n", "", run.stderr)
    errors = re.sub(r"(?m)^(ERROR:  23.*\n(?:DETAIL.*\n)?CONTEXT:  COPY \w+, line \d+): .*", r"\1", errors)
    errors = re.sub(r"(?m)^(ERROR:  P0.*\n)CONTEXT:  .*\n(COPY .*\n)?", r"\1", errors)
    return run.stdout, errors


SCHEMA = """
CREATE TABLE t (a integer PRIMARY KEY, b text, c numeric(10,2));
CREATE TABLE big (id integer PRIMARY KEY, word text);
CREATE TABLE wide (i smallint, l bigint, f double precision, n numeric, v varchar(5), d date, s timestamp, z timestamptz, o boolean, x text[]);
INSERT INTO t VALUES (1, 'one', 1.5), (2, NULL, NULL), (3, E'tab\\tline\\nreturn\\rslash\\\\', 3), (4, 'quo"te, comma', 4), (5, '', 5);
INSERT INTO t VALUES (6, E'\\\\N', 6), (7, '\\.', 7), (8, 'snö', 8);
INSERT INTO wide VALUES (-1, 9007199254740993, 0.1, 1e20, 'abc', '2024-02-29', '2024-02-29 12:30:15.25', '2024-02-29 12:30:15+00', true, '{a,NULL,"c,d"}');
INSERT INTO big SELECT g, repeat('word ', 20) FROM generate_series(1, 20000) g;
"""

# What psql is given, by name.
TO_SCRIPTS = {
    "text": "COPY (SELECT * FROM t ORDER BY a) TO STDOUT;",
    "csv": "COPY (SELECT * FROM t ORDER BY a) TO STDOUT (FORMAT csv);",
    "csv with everything": "COPY (SELECT * FROM t ORDER BY a) TO STDOUT (FORMAT csv, HEADER, DELIMITER ';', QUOTE '''', ESCAPE '!', NULL 'nil', "
                           "FORCE_QUOTE (b, c), ENCODING 'utf8');",
    "force quote of all": "COPY (SELECT * FROM t ORDER BY a) TO STDOUT CSV HEADER FORCE QUOTE *;",
    "text with a header": "COPY (SELECT a, b AS \"x\ty\" FROM t ORDER BY a) TO STDOUT (HEADER, DELIMITER '|', NULL '-');",
    "a table": "COPY wide TO STDOUT; COPY wide (x, o, z) TO STDOUT CSV HEADER;",
    "no rows": "COPY (SELECT * FROM t WHERE false) TO STDOUT; COPY (SELECT 1 AS a WHERE false) TO STDOUT CSV HEADER;",
    "several statements in one message": "SELECT 1\\; COPY (SELECT 2) TO STDOUT\\; SELECT 3\\; COPY (SELECT 4) TO STDOUT;",
    "an error ends the message": "COPY (SELECT 1) TO STDOUT\\; COPY nothing TO STDOUT\\; COPY (SELECT 3) TO STDOUT;\nSELECT 'after';",
    "an error in a row": "COPY (SELECT 10 / (1 - a) FROM t ORDER BY a) TO STDOUT;\nSELECT 'after';",
    "rows of a change": "CREATE TABLE changed (a integer);\nCOPY (INSERT INTO changed VALUES (1), (2) RETURNING a * 2) TO STDOUT;\n"
                        "COPY (DELETE FROM changed WHERE a = 2 RETURNING *) TO STDOUT;\nSELECT * FROM changed;\nDROP TABLE changed;",
    "in a block": "BEGIN;\nCOPY (SELECT a FROM t WHERE a < 3 ORDER BY a) TO STDOUT;\nCOPY nothing TO STDOUT;\nCOPY (SELECT 1) TO STDOUT;\nROLLBACK;",
    "wrong options": "COPY t TO STDOUT (FORMAT xml);\nCOPY t TO STDOUT (QUOTE '!');\nCOPY t TO STDOUT (FORMAT csv, FORCE_NULL (a));\n"
                     "COPY t TO STDOUT (HEADER match);\nCOPY t (nothing) TO STDOUT;\nCOPY t TO STDOUT (DELIMITER 'ab');\n"
                     "COPY t TO STDOUT (FORMAT binary, DELIMITER ',');\nCOPY t TO STDOUT (FORMAT binary, NULL 'x');\n"
                     "COPY t TO STDOUT (FORMAT binary, HEADER);\nCOPY t TO STDOUT (FORMAT binary, QUOTE '!');\nCOPY t TO STDOUT (FORMAT binary, FORCE_QUOTE *);\n"
                     "COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (nothing));\nCOPY (SELECT $1) TO STDOUT;",
    "\\copy": "\\copy (SELECT * FROM t ORDER BY a) TO STDOUT CSV HEADER\n\\copy t (a) TO PSTDOUT",
    "many rows": "COPY (SELECT * FROM big ORDER BY id) TO STDOUT;",
}


FROM_SCHEMA = """
CREATE TABLE plain (a integer, b text, c numeric(10,2));
CREATE TABLE ruled (id serial PRIMARY KEY, a integer NOT NULL CHECK (a > 0), b varchar(4) DEFAULT 'none', twice integer GENERATED ALWAYS AS (a * 2) STORED,
                    t_a integer REFERENCES t (a));
CREATE TABLE seen (a integer, what text);
CREATE TABLE watched (a integer PRIMARY KEY, b text);
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.a < 0 THEN RETURN NULL; END IF;
  IF NEW.a = 13 THEN RAISE EXCEPTION 'thirteen' USING ERRCODE = 'P0013'; END IF;
  RAISE NOTICE 'row %', NEW.a;
  NEW.b := upper(NEW.b);
  RETURN NEW;
END $$;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (NEW.a, TG_OP); RETURN NULL; END $$;
CREATE TRIGGER change BEFORE INSERT ON watched FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER note AFTER INSERT ON watched FOR EACH ROW EXECUTE FUNCTION note();
"""

SHOW_PLAIN = "SELECT * FROM plain ORDER BY a, b;\nTRUNCATE plain;\n"


def copies(*parts):
    """Statements, each with the lines that it reads."""
    return "".join(f"{sql};\n" + "".join(line + "\n" for line in lines) + "\\.\n" for sql, *lines in parts)


FROM_SCRIPTS = {
    "text": copies(["COPY plain FROM STDIN", "1\tone\t1.5", "2\t\\N\t\\N", "3\ttab\\tline\\nend\\\\\t3", "4\t\\x41\\101\t4"]) + SHOW_PLAIN,
    "csv": copies(["COPY plain FROM STDIN (FORMAT csv, HEADER)", "a,b,c", '1,"quo""te, comma",1', "2,,", '3,"",3', '4,"two\nlines",4']) + SHOW_PLAIN,
    "csv with everything": copies(["COPY plain (c, a, b) FROM STDIN (FORMAT csv, HEADER match, DELIMITER ';', QUOTE '''', ESCAPE '!', NULL 'nil', "
                                   "FORCE_NOT_NULL (b)) WHERE a <> 2", "c;a;b", "1;1;'x!'y'", "nil;2;left out", "nil;3;nil"]) + SHOW_PLAIN,
    "wrong headers": copies(["COPY plain FROM STDIN (FORMAT csv, HEADER match)", "a,x,c", "1,1,1"], ["COPY plain FROM STDIN (HEADER match)", "a\tb"])
                     + SHOW_PLAIN,
    "nothing": copies(["COPY plain FROM STDIN"]) + SHOW_PLAIN,
    "bad values": copies(["COPY plain FROM STDIN", "1\tone\t1", "2\ttwo\tx2", "3"], ["COPY plain FROM STDIN", "1"], ["COPY plain FROM STDIN", "1\t2\t3\t4"],
                         ["COPY plain FROM STDIN CSV", '1,"open,3'], ["COPY plain FROM STDIN", "99999999999\ta\t1"],
                         ["COPY plain FROM STDIN", "1\ta\t123456789.55"]) + SHOW_PLAIN,
    "what is not there": "COPY nothing FROM STDIN;\nCOPY plain (x) FROM STDIN;\nCOPY plain (a, a) FROM STDIN;\nCOPY plain FROM STDIN (FORMAT xml);\n"
                         "COPY ruled (twice) FROM STDIN;\nCOPY plain FROM STDIN WHERE z = 1;\nSELECT 'after';\n",
    "rules and defaults": copies(["COPY ruled (a, t_a) FROM STDIN", "1\t1", "2\t\\N"], ["COPY ruled (a, b) FROM STDIN", "3\tabcd", "4\tabcde"],
                                 ["COPY ruled (a, b) FROM STDIN", "3\tabc", "-4\tabc"], ["COPY ruled (a) FROM STDIN", "\\N"],
                                 ["COPY ruled (a, t_a) FROM STDIN", "1\t1", "1\t1000"], ["COPY ruled (id, a) FROM STDIN", "70\t1", "70\t1"])
                          + "SELECT a, b, twice, t_a FROM ruled ORDER BY id;\n",
    "triggers": copies(["COPY watched FROM STDIN", "1\tone", "-1\tout", "2\ttwo"], ["COPY watched FROM STDIN", "3\tthree", "13\tbad"])
                + "SELECT * FROM watched ORDER BY a;\nSELECT * FROM seen ORDER BY a;\n",
    "several statements in one message": "COPY plain (a) FROM STDIN\\; SELECT 1\\; COPY plain (a, b) FROM STDIN\\; COPY (SELECT count(*) FROM plain) TO STDOUT;\n"
                                         "1\n\\.\n2\tb\n\\.\n" + SHOW_PLAIN,
    "the session's time zone": "SET TimeZone = 'Asia/Tokyo';\n" + copies(["COPY wide (z) FROM STDIN", "2024-02-29 12:30:15"])
                               + "RESET TimeZone;\nSET TimeZone = 'UTC';\nSELECT z FROM wide WHERE i IS NULL;\nDELETE FROM wide WHERE i IS NULL;\n",
    "in a block": "BEGIN;\nCREATE TABLE made (a integer);\n" + copies(["COPY made FROM STDIN", "1", "2"]) + "SAVEPOINT s;\n"
                  + copies(["COPY plain (a) FROM STDIN", "1", "x"]) + "SELECT 1;\nROLLBACK TO s;\n" + copies(["COPY plain (a, b) FROM STDIN CSV", "3,three"])
                  + "INSERT INTO made SELECT a FROM plain;\nCOMMIT;\nSELECT * FROM made ORDER BY a;\nDROP TABLE made;\n" + SHOW_PLAIN
                  + "BEGIN;\n" + copies(["COPY plain (a) FROM STDIN", "1"]) + "ROLLBACK;\nBEGIN;\n" + copies(["COPY watched FROM STDIN", "13\tbad"])
                  + "COMMIT;\n" + SHOW_PLAIN,
    "\\copy": "\\copy plain FROM STDIN CSV\n1,one,1\n2,two,2\n\\.\n\\copy plain FROM /nonexistent/file\n\\copy plain FROM PROGRAM 'echo 3,3,3' CSV\n" + SHOW_PLAIN,
    "line ends": "\\copy plain FROM PROGRAM 'printf \"1\\t1\\t1\\r\\n2\\t2\\t2\\r\\n\"'\n\\copy plain FROM PROGRAM 'printf \"1\\t1\\t1\\n2\\t2\\t2\\r\\n\"'\n" + SHOW_PLAIN,
    "many rows": "CREATE TABLE many (id integer PRIMARY KEY, word text);\n\\copy many FROM PROGRAM 'seq 1 50000 | sed \"s/$/,a word/\"' CSV\n"
                 "SELECT count(*), min(id), max(id), min(word) FROM many;\n\\copy many (id) FROM PROGRAM 'seq 50001 99999; echo 7'\n"
                 "SELECT count(*) FROM many;\nDROP TABLE many;\n",
}


# --- messages ---

def message(kind, payload=b""):
    return kind + struct.pack("!i", len(payload) + 4) + payload


def text(value):
    return value.encode() + b"\0"


def query(sql):
    return message(b"Q", text(sql))


def parse(sql, name=""):
    return message(b"P", text(name) + text(sql) + b"\0\0")


def bind(name="", portal=""):
    return message(b"B", text(portal) + text(name) + b"\0\0\0\0\0\0")


def execute(rows_max=0, portal=""):
    return message(b"E", text(portal) + struct.pack("!i", rows_max))


DESCRIBE = message(b"D", b"P" + text(""))
SYNC = message(b"S")
END = message(b"X")


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        try:
            piece = connection.recv(count - len(data))
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data += piece
    return data


def read_message(connection):
    """Type and payload; None at the end."""
    header = read_exactly(connection, 5)
    if len(header) < 5:
        return None
    return chr(header[0]), read_exactly(connection, struct.unpack("!i", header[1:])[0] - 4)


def fields_of(payload):
    """What errors of both must have in common."""
    fields = {chr(part[0]): part[1:].decode() for part in payload.split(b"\0") if part}
    return tuple(fields.get(code, "") for code in "SCMDHPW")


def start_session(server):
    connection = server.connect()
    start = struct.pack("!i", 196608) + text("user") + text("postgres") + text("database") + text(server.name) + b"\0"
    connection.sendall(struct.pack("!i", len(start) + 4) + start)
    while (got := read_message(connection)) is not None and got[0] != "Z":
        continue
    return connection


def talk(server, sent, expected_ends):
    """Answers to messages up to so many ReadyForQuery, or the end of the connection."""
    connection = start_session(server)
    connection.sendall(sent)
    answers = []
    while expected_ends > 0 and (got := read_message(connection)) is not None:
        answers.append((got[0], fields_of(got[1]) if got[0] in "EN" else got[1]))
        expected_ends -= got[0] == "Z"
    connection.close()
    return answers


# What is sent, and how many ReadyForQuery come back.
TO_DIALOGUES = {
    "a simple query": (query("COPY (SELECT 1, NULL::text) TO STDOUT"), 1),
    "an extended query": (parse("COPY (SELECT a, b FROM t WHERE a < 3 ORDER BY a) TO STDOUT") + bind() + DESCRIBE + execute() + SYNC, 1),
    "a row limit means nothing": (parse("COPY (SELECT a FROM t ORDER BY a) TO STDOUT CSV HEADER") + bind() + execute(2) + execute(2) + SYNC, 1),
    "a statement is described": (parse("COPY t TO STDOUT", "s") + message(b"D", b"S" + text("s")) + SYNC + bind("s") + execute() + SYNC, 2),
    "an unknown table": (parse("COPY nothing TO STDOUT") + bind() + execute() + execute() + SYNC + query("SELECT 1"), 2),
    "a parameter": (parse("COPY (SELECT $1) TO STDOUT") + bind() + execute() + SYNC, 1),
    "an error in a row": (query("COPY (SELECT 10 / (1 - a) FROM t WHERE a < 3 ORDER BY a) TO STDOUT; SELECT 1"), 1),
}


# COPY's binary format
HEAD = b"PGCOPY\n\377\r\n\0" + struct.pack("!ii", 0, 0)
TAIL = struct.pack("!h", -1)


def field(value):
    return struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value


def row(*values):
    return struct.pack("!h", len(values)) + b"".join(field(value) for value in values)


def number(value):
    return struct.pack("!i", value)


ONE_AND_A_HALF = struct.pack("!hhHhhh", 2, 0, 0, 1, 1, 5000)
BINARY_ROWS = row(number(1), b"one", ONE_AND_A_HALF) + row(number(-2), None, None) + row(None, b"", None)
BINARY_IN = query("COPY plain FROM STDIN (FORMAT binary)")

TO_DIALOGUES |= {
    "binary": (query("COPY t TO STDOUT (FORMAT binary)"), 1),
    "binary, all types": (query("COPY wide TO STDOUT WITH BINARY"), 1),
    "binary, a query": (query("COPY (SELECT 1, 2::smallint, NULL::text, 1.50, now() > now(), '{1,NULL}'::integer[], '[1]'::jsonb, interval '1 day 2 seconds') TO STDOUT (FORMAT binary)"), 1),
    "binary, no rows": (query("COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT binary)"), 1),
    "binary, an extended query": (parse("COPY t TO STDOUT (FORMAT binary)") + bind() + DESCRIBE + execute() + SYNC, 1),
}


COPY_IN = query("COPY plain FROM STDIN")
DATA = message(b"d", b"1\tone\t1\n2\ttwo\t2\n")
DONE = message(b"c")
COUNT = query("SELECT count(*), max(b) FROM plain; DELETE FROM plain")


def extended(sql, *after):
    """An extended query whose client sends Sync before it knows that it is a COPY, as libpq does."""
    return parse(sql) + bind() + execute() + SYNC + b"".join(after) + SYNC


FROM_DIALOGUES = {
    "a simple query": (COPY_IN + DATA + DONE + COUNT, 2),
    "rows cut anywhere": (COPY_IN + b"".join(message(b"d", bytes([c])) for c in b"1\to\\tne\t1\r\n2\t\\N\t2\r\n") + DONE + COUNT, 2),
    "no line end at the end": (COPY_IN + message(b"d", b"1\tone\t1\n2\ttwo\t2") + DONE + COUNT, 2),
    "nothing after the end marker counts": (COPY_IN + message(b"d", b"1\tone\t1\n\\.\nrubbish") + message(b"d", b"more") + DONE + COUNT, 2),
    "CopyFail": (COPY_IN + DATA + message(b"f", text("no more")) + COUNT, 2),
    "CopyFail at once": (COPY_IN + message(b"f", text("snö")) + COUNT, 2),
    "an error, and the client goes on": (COPY_IN + message(b"d", b"x\n") + DATA + DATA + DONE + COUNT, 2),
    "an error at the end": (COPY_IN + message(b"d", b"1") + DONE + COUNT, 2),
    "bytes that are no UTF-8": (COPY_IN + message(b"d", b"1\tone\t1\n2\t\xff\xfe\t1\n") + DONE + COUNT, 2),
    "a zero byte": (COPY_IN + message(b"d", b"1\ta\0b\t1\n") + DONE + COUNT, 2),
    "Flush and Sync mean nothing": (COPY_IN + message(b"H") + DATA + SYNC + DATA + DONE + COUNT, 2),
    "other messages end the connection": (COPY_IN + DATA + query("SELECT 1") + COUNT, 2),
    "an extended query": (extended("COPY plain FROM STDIN", DATA, DONE) + COUNT, 2),
    "an extended query with an error": (extended("COPY plain FROM STDIN", message(b"d", b"x\n"), DATA, DONE) + COUNT, 2),
    "an extended query with CopyFail": (extended("COPY plain FROM STDIN", DATA, message(b"f", text("why"))) + COUNT, 2),
    "an unknown table in an extended query": (extended("COPY nothing FROM STDIN", DATA, DONE) + COUNT, 3),
    "it runs once": (parse("COPY plain FROM STDIN") + bind() + execute() + DATA + DONE + execute() + SYNC + query("TRUNCATE plain"), 2),
    "the second of three fails": (query("COPY plain (a) FROM STDIN; COMMIT; COPY plain (a) FROM STDIN; SELECT 1") + message(b"d", b"1\n") + DONE
                                  + message(b"d", b"x\n") + DONE + COUNT, 2),
    "stray messages": (DATA + DONE + message(b"f", text("why")) + COUNT, 1),
}


def binary_in(data, *more):
    return BINARY_IN + message(b"d", data) + b"".join(more) + DONE + COUNT, 2


FROM_DIALOGUES |= {
    "binary": binary_in(HEAD + BINARY_ROWS + TAIL),
    "binary, cut anywhere": (BINARY_IN + b"".join(message(b"d", bytes([c])) for c in HEAD + BINARY_ROWS + TAIL) + DONE + COUNT, 2),
    "binary, no end marker": binary_in(HEAD + BINARY_ROWS),
    "binary, half an end marker": binary_in(HEAD + BINARY_ROWS + b"\xff"),
    "binary, no rows": binary_in(HEAD + TAIL),
    "binary, an extension of the header": binary_in(HEAD[:-4] + struct.pack("!i", 3) + b"abc" + BINARY_ROWS + TAIL),
    "binary, nothing": binary_in(b""),
    "binary, half a signature": binary_in(HEAD[:7]),
    "binary, another signature": binary_in(b"1\tone\t1\n2\ttwo\t2\n"),
    "binary, no flags": binary_in(HEAD[:13]),
    "binary, no length of the header": binary_in(HEAD[:17]),
    "binary, a wrong length of the header": binary_in(HEAD[:-4] + struct.pack("!i", 3) + b"ab"),
    "binary, OIDs": binary_in(HEAD[:11] + struct.pack("!ii", 1 << 16, 0) + TAIL),
    "binary, unknown flags": binary_in(HEAD[:11] + struct.pack("!ii", 1 << 17, 0) + TAIL),
    "binary, too few fields": binary_in(HEAD + row(number(1), b"one", None) + row(number(1), b"one") + TAIL),
    "binary, too many fields": binary_in(HEAD + row(number(1), b"one", None, None) + TAIL),
    "binary, a wrong size": binary_in(HEAD + struct.pack("!hi", 3, -2) + TAIL),
    "binary, a short value": binary_in(HEAD + row(b"\0\1", b"one", None) + TAIL),
    "binary, a long value": binary_in(HEAD + row(b"\0\0\0\0\1", b"one", None) + TAIL),
    "binary, a value, then a wrong size": binary_in(HEAD + struct.pack("!hi", 3, 2) + b"ab" + struct.pack("!i", -7)),
    "binary, bytes that are no UTF-8": binary_in(HEAD + row(number(1), b"\xff\xfe", None) + TAIL),
    "binary, a zero byte": binary_in(HEAD + row(number(1), b"a\0b", None) + TAIL),
    "binary, it ends in a field": binary_in(HEAD + row(number(1), b"one", None) + row(number(2), b"two", None)[:-7]),
    "binary, it ends in a length": binary_in(HEAD + row(number(1), b"one", None)[:-2]),
    "binary, more after the end": binary_in(HEAD + row(number(1), b"one", None) + TAIL + b"x"),
    "binary, more after the end, later": binary_in(HEAD + row(number(1), b"one", None) + TAIL, message(b"d", b"x")),
    "binary, CopyFail": (BINARY_IN + message(b"d", HEAD + BINARY_ROWS) + message(b"f", text("no more")) + COUNT, 2),
    "binary, a number beyond its column": binary_in(HEAD + row(number(1), b"one", struct.pack("!hhHhh", 1, 3, 0, 0, 1)) + TAIL),
    "binary, an extended query": (extended("COPY plain FROM STDIN (FORMAT binary)", message(b"d", HEAD + BINARY_ROWS + TAIL), DONE) + COUNT, 2),
}


def compare(what, ours, theirs):
    expect(what, ours == theirs, f"\n  ours   {str(ours)[:3000]}\n  theirs {str(theirs)[:3000]}")


def check_scripts(node, postgres, scripts):
    for name, script in scripts.items():
        compare(f"psql, {name}", psql(node, script), psql(postgres, script))


def check_dialogues(node, postgres, dialogues):
    for name, (sent, ends) in dialogues.items():
        compare(f"messages, {name}", talk(node, sent, ends), talk(postgres, sent, ends))


def check_psycopg(node):
    try:
        import psycopg
    except ImportError as error:
        print(f"skip  psycopg: {error}", flush=True)
        return
    with psycopg.connect(node.conninfo, autocommit=True) as db:
        with db.cursor().copy("COPY (SELECT a, b FROM t WHERE a < 3 ORDER BY a) TO STDOUT") as copy:
            rows = list(copy.rows())
        expect("psycopg reads rows", rows == [("1", "one"), ("2", None)], rows)
        with db.cursor() as cursor:
            with cursor.copy("COPY big TO STDOUT (FORMAT csv)") as copy:
                size = sum(len(part) for part in copy)
            expect("psycopg reads many", cursor.rowcount == 20000 and size > 2000000, (cursor.rowcount, size))
        try:
            with db.cursor().copy("COPY (SELECT g, repeat('w', 100) FROM generate_series(1, 10000000) g) TO STDOUT") as copy:
                next(iter(copy))
                raise InterruptedError  # the rest is cancelled
        except InterruptedError:
            pass
        expect("and the connection lives", db.execute("SELECT 4").fetchone() == (4,))
        with db.cursor() as cursor:
            with cursor.copy("COPY plain (a, b) FROM STDIN") as copy:
                for row in ((1, "one"), (2, None), (3, "tab\tnewline\n\\")):
                    copy.write_row(row)
            expect("psycopg writes rows", cursor.rowcount == 3, cursor.rowcount)
        rows = db.execute("SELECT a, b FROM plain ORDER BY a").fetchall()
        expect("and reads them", rows == [(1, "one"), (2, None), (3, "tab\tnewline\n\\")], rows)
        check_ends(psycopg, db, node)
        db.execute("TRUNCATE plain")
        check_binary(psycopg, db)
    with psycopg.connect(node.conninfo) as db:
        before = db.execute("SELECT count(*) FROM plain").fetchone()[0]
        copy_rows(db, ["1\n"])
        inside = db.execute("SELECT count(*) FROM plain").fetchone()[0]
        db.rollback()
        after = db.execute("SELECT count(*) FROM plain").fetchone()[0]
        expect("a COPY in psycopg's own block is taken back with it", (inside, after) == (before + 1, before), (before, inside, after))


def check_binary(psycopg, db):
    from decimal import Decimal
    types = ["int4", "text", "numeric"]
    rows = [(g, f"row {g}", Decimal(g) / 100) if g % 7 else (g, None, None) for g in range(5000)]
    with db.cursor() as cursor:
        with cursor.copy("COPY plain FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(types)
            for each in rows:
                copy.write_row(each)
        expect("psycopg writes binary rows", cursor.rowcount == len(rows), cursor.rowcount)
        with cursor.copy("COPY (SELECT * FROM plain ORDER BY a) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(types)
            read = list(copy.rows())
        expect("and reads them", read == rows, read[:3])
    # what one table gives another takes, whatever the types
    with db.cursor().copy("COPY wide TO STDOUT (FORMAT binary)") as copy:
        whole = b"".join(copy)
    db.execute("CREATE TABLE wide_again (LIKE wide)")
    with db.cursor().copy("COPY wide_again FROM STDIN (FORMAT binary)") as copy:
        copy.write(whole)
    both = [db.execute(f"SELECT w::text FROM {name} w").fetchall() for name in ("wide", "wide_again")]
    expect("all types, there and back", both[0] == both[1] and len(both[0]) == 1, both)
    db.execute("DROP TABLE wide_again")
    db.execute("TRUNCATE plain")


def copy_rows(db, pieces):
    with db.cursor().copy("COPY plain (a) FROM STDIN") as copy:
        for piece in pieces:
            copy.write(piece)


def error_of(psycopg, run):
    try:
        run()
    except psycopg.Error as error:
        return error
    return psycopg.Error("no error")


def check_ends(psycopg, db, node):
    """How a COPY ends that does not come to its end: nothing of it stays."""
    def interrupted(interrupt):
        yield "70\n71\n"
        interrupt()
        yield "72\n"

    def fail():
        raise InterruptedError("enough")

    try:
        copy_rows(db, interrupted(fail))
        expect("an error of the client ends COPY", False)
    except (InterruptedError, psycopg.errors.QueryCanceled):
        expect("an error of the client ends COPY", True)
    error = error_of(psycopg, lambda: copy_rows(db, interrupted(db.cancel)))
    if error.sqlstate is None:  # the request came when it was over; its rows are there
        print("skip  a CancelRequest that came too late", flush=True)
        db.execute("DELETE FROM plain WHERE a >= 70")
    else:
        expect("a CancelRequest ends COPY", error.sqlstate == "57014" and "user request" in str(error), error)
    db.execute("SET statement_timeout = '50ms'")
    error = error_of(psycopg, lambda: copy_rows(db, interrupted(lambda: time.sleep(0.2))))
    expect("statement_timeout ends COPY", error.sqlstate == "57014" and "timeout" in str(error), error)
    db.execute("RESET statement_timeout")
    db.execute("SET default_transaction_read_only = on")
    error = error_of(psycopg, lambda: copy_rows(db, ["1\n"]))
    expect("a read-only session copies nothing", error.sqlstate == "25006", error)
    db.execute("RESET default_transaction_read_only")
    begun = start_session(node)
    begun.sendall(COPY_IN + message(b"d", b"70\tseventy\t1\n"))
    while read_message(begun)[0] != "G":
        continue
    begun.close()
    expect("nothing stays of them", db.execute("SELECT count(*) FROM plain WHERE a >= 70").fetchone() == (0,))


def check_memory(program):
    """The rows of COPYs that have not ended have a bound."""
    node = Node(program, "--copy-memory", "2MB")
    psql(node, "CREATE TABLE plain (a integer, b text, c numeric);")
    rows = message(b"d", b"1\t" + b"x" * 1000 + b"\t1\n") * 1000
    session = start_session(node)
    for round in range(3):  # what was refused and what was done gives its memory back
        session.sendall(COPY_IN + 3 * rows + DONE)
        while (got := read_message(session))[0] != "E":
            continue
        error = fields_of(got[1])
        expect("a COPY beyond copy_memory fails", error[1] == "53200" and error[6].startswith("COPY plain, line "), error)
        session.sendall(COPY_IN + rows + DONE)
        while (got := read_message(session))[0] != "C":
            continue
        expect("a smaller one has room", got[1] == b"COPY 1000\0", got)
    session.close()
    expect("its node stops", node.stop() == 0)


def check_refusals(node):
    out, err = psql(node, "SET default_transaction_read_only = on;\n"
                          "COPY (DELETE FROM t RETURNING a) TO STDOUT;\nCOPY t TO STDOUT CSV;")
    expect("what is not there is refused by name", "25006" in err and "8,sn\xf6" in out, (out, err))


def main():
    if shutil.which("psql") is None:
        print("skip  no psql")
        return 0
    node = Node(sys.argv[1])
    postgres = Postgres(tempfile.mkdtemp(prefix="scyper-postgres-"))
    try:
        compare("the schema", psql(node, SCHEMA, "-v", "ON_ERROR_STOP=1"), psql(postgres, SCHEMA, "-v", "ON_ERROR_STOP=1"))
        check_scripts(node, postgres, TO_SCRIPTS)
        check_dialogues(node, postgres, TO_DIALOGUES)
        compare("tables to fill", psql(node, FROM_SCHEMA, "-v", "ON_ERROR_STOP=1"), psql(postgres, FROM_SCHEMA, "-v", "ON_ERROR_STOP=1"))
        check_scripts(node, postgres, FROM_SCRIPTS)
        check_dialogues(node, postgres, FROM_DIALOGUES)
    finally:
        postgres.stop()
    check_psycopg(node)
    check_refusals(node)
    expect("the node stops", node.stop() == 0)
    check_memory(sys.argv[1])
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
