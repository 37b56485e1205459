#!/usr/bin/env python3
"""What programs do when they connect: encodings of their texts, first settings of sessions, roles, databases.

Usage: postgres_settings.py SCYPERD
A node and PostgreSQL 15 get the same scripts by psql, and must answer the same; values in binary by psycopg 3 where it is installed. What PostgreSQL
does with several databases, a node does with one: those checks are its own. Each check says what it found; the exit code counts the failures.
"""
import os
import re
import subprocess
import sys
import tempfile

from postgres_servers import CHECKS, PATIENCE_S, Node, Postgres, expect, optional

psycopg = optional("psycopg")


def psql(server, text, encoding="UTF8", **conninfo):
    """Bytes of output and errors of one psql whose client_encoding is `encoding`."""
    words = dict(word.split("=") for word in server.conninfo.split()) | conninfo
    run = subprocess.run(["psql", "-X", "-A", "-t", "-v", "VERBOSITY=verbose", " ".join(f"{name}={value}" for name, value in words.items())],
                         input=text, capture_output=True, timeout=PATIENCE_S, check=False,
                         env={**os.environ, "LC_ALL": "C", "PGCLIENTENCODING": encoding})
    errors = re.sub(rb"(?m)^LOCATION:.*\n", b"", run.stderr)
    return run.stdout, errors


# (encoding, script in that encoding)
ENCODED = [
    ("LATIN1", "SHOW client_encoding; SELECT 'gr\u00fc\u00df', length('gr\u00fc\u00df'), octet_length('gr\u00fc\u00df'); SELECT U&'\\20AC';".encode("latin-1")),
    ("LATIN1", "CREATE TABLE \"stra\u00dfe\" (\"gr\u00f6\u00dfe\" text); INSERT INTO \"stra\u00dfe\" VALUES ('\u00e4'), ('b'); SELECT * FROM \"stra\u00dfe\";"
               "\\pset tuples_only off\nSELECT * FROM \"stra\u00dfe\"; SELECT nothing FROM \"stra\u00dfe\"; DROP TABLE \"stra\u00dfe\";".encode("latin-1")),
    ("WIN1252", "SELECT '\u20ac \u201e\u201c', ascii('\u20ac');".encode("cp1252")),
    ("WIN1252", b"SELECT '\x81';"),
    ("LATIN9", "SELECT '\u20ac'; SELECT U&'\\4E00';".encode("iso8859-15")),
    ("WIN1251", "SELECT '\u0434\u0430', upper('\u0434\u0430' COLLATE \"C\");".encode("cp1251")),
    ("KOI8R", "SELECT '\u0434\u0430';".encode("koi8-r")),
    ("SJIS", "SELECT '\u65e5\u672c', length('\u8868');".encode("shift-jis")),
    ("EUC_JP", "SELECT '\u65e5\u672c';".encode("euc-jp")),
    ("GBK", "SELECT '\u4e2d\u6587';".encode("gbk")),
    ("BIG5", "SELECT '\u4e2d\u6587';".encode("big5")),
    ("SQL_ASCII", "SELECT '\u00e4', length('\u00e4');".encode()),
    ("SQL_ASCII", b"SELECT '\xe4';"),
    ("UTF8", b"SELECT '\xe4\x28';"),
    ("UTF8", b"SET client_encoding = 'latin-1'; SHOW client_encoding; SELECT U&'\\00e4'; RESET client_encoding; SELECT U&'\\00e4';"
             b"SET NAMES 'win1252'; SHOW client_encoding; SET client_encoding TO 'nothing'; SET client_encoding = 'MULE_INTERNAL';"
             b"BEGIN; SET LOCAL client_encoding = 'LATIN1'; SELECT U&'\\00e4'; ROLLBACK; SHOW client_encoding;"),
    ("LATIN1", "CREATE TABLE c (a text); COPY c FROM STDIN;\ngr\u00fcn\n\\.\nCOPY c TO STDOUT; COPY c TO STDOUT (ENCODING 'UTF8'); SELECT length(a) FROM c;"
               "COPY (SELECT U&'\\20AC') TO STDOUT; DROP TABLE c;".encode("latin-1")),
    ("UTF8", b"CREATE TABLE c (a text); COPY c FROM STDIN (ENCODING 'LATIN1');\ngr\xfcn\n\\.\nSELECT a, length(a) FROM c; COPY c TO STDOUT (ENCODING 'LATIN1');"
             b"COPY c FROM STDIN (ENCODING 'WIN1252');\na\x81\n\\.\nDROP TABLE c;"),
    ("UTF8", b"SELECT convert_from('\\xe4'::bytea, 'latin1'), convert_to(U&'\\20AC', 'win1252'), convert_to('a', 'nothing');"
             b"SELECT convert_to(U&'\\20AC', 'latin1'); SELECT convert_from('\\x81'::bytea, 'win1252');"
             b"SELECT pg_client_encoding(), pg_encoding_to_char(8), pg_char_to_encoding('latin1'), pg_char_to_encoding('nix'), pg_encoding_to_char(77);"),
    ("UTF8", b"SELECT '\\x00015c7f80ff4161'::bytea; SET bytea_output = escape; SELECT '\\x00015c7f80ff4161'::bytea, '\\x5c'::bytea::text, ARRAY['\\x5c00'::bytea];"
             b"SELECT encode('\\x5c00'::bytea, 'hex'); SET bytea_output = 'nothing'; SET bytea_output = HEX; SELECT '\\x5c'::bytea; SHOW bytea_output;"),
]

# Roles and first settings. Both servers have the same names; `owner` is a superuser of each.
SETTINGS = """
CREATE ROLE settings_one LOGIN; CREATE ROLE settings_two;
ALTER ROLE settings_one SET work_mem = '3MB'; ALTER ROLE settings_one SET search_path = "Odd One", public; ALTER ROLE settings_one SET app.x = 'y';
ALTER ROLE settings_one SET statement_timeout TO DEFAULT; ALTER ROLE settings_one SET nothing = 1; ALTER ROLE settings_one SET work_mem = 'x';
ALTER ROLE settings_nobody SET work_mem = '3MB'; ALTER ROLE settings_one IN DATABASE nothing SET work_mem = '3MB';
SELECT rolconfig FROM pg_roles WHERE rolname = 'settings_one';
SELECT setdatabase, setrole::regrole, setconfig FROM pg_db_role_setting ORDER BY 2::text;
SET SESSION AUTHORIZATION settings_one; SELECT session_user, current_user; SHOW session_authorization; SHOW is_superuser;
ALTER ROLE settings_one SET geqo = off; ALTER ROLE settings_two SET geqo = off; ALTER ROLE ALL SET geqo = off;
SET SESSION AUTHORIZATION settings_two; RESET SESSION AUTHORIZATION; SELECT session_user = current_user; SHOW is_superuser;
SET SESSION AUTHORIZATION settings_nobody;
BEGIN; SET LOCAL SESSION AUTHORIZATION settings_two; SELECT session_user; COMMIT; SHOW is_superuser;
SET ROLE settings_two; RESET ALL; SELECT current_user; RESET ROLE;
"""
AS_ONE = "SHOW work_mem; SHOW search_path; SHOW app.x; SHOW geqo; SET work_mem = '5MB'; RESET work_mem; SHOW work_mem;"
SETTINGS_END = """
ALTER ROLE settings_one RESET work_mem; SELECT rolconfig FROM pg_roles WHERE rolname = 'settings_one'; ALTER ROLE settings_one RESET ALL;
SELECT count(*) FROM pg_db_role_setting; DROP ROLE settings_one, settings_two;
SET enable_seqscan = off; SHOW enable_seqscan; SET log_parameter_max_length = '1kB';
SHOW log_parameter_max_length; SET shared_buffers = '1GB'; SET autovacuum = off; SET block_size = 1; SET log_connections = on; SET geqo_effort = 11;
SELECT name, category, short_desc, context, vartype, unit, min_val, max_val, enumvals, boot_val FROM pg_settings
  WHERE name IN ('work_mem', 'enable_hashjoin', 'synchronous_commit', 'max_connections', 'autovacuum_naptime', 'random_page_cost') ORDER BY name;
"""


def check_encodings(node, postgres):
    for encoding, script in ENCODED:
        here, there = psql(node, script, encoding), psql(postgres, script, encoding)
        expect(f"{encoding}: {script[:40]!r}", here == there, (here, there))
    if psycopg is None:
        return
    for server in (node, postgres):
        with psycopg.connect(server.conninfo, client_encoding="latin1", autocommit=True) as connection:
            cursor = connection.cursor(binary=True)
            row = cursor.execute("SELECT %b::text, %b::text[], %t::text, U&'\\00e4'::varchar", ("gr\u00fcn", ["\u00e4", None, "o"], "\u00f6")).fetchone()
            expect(f"{server.name}: values in binary and LATIN1", row == ("gr\u00fcn", ["\u00e4", None, "o"], "\u00f6", "\u00e4"), row)
            try:
                cursor.execute("SELECT U&'\\20AC'").fetchone()
                expect(f"{server.name}: no euro in LATIN1", False)
            except psycopg.Error as error:
                expect(f"{server.name}: no euro in LATIN1", error.sqlstate == "22P05", error)
            expect(f"{server.name}: the session goes on", connection.execute("SELECT 1").fetchone() == (1,))


def check_settings(node, postgres):
    for name, script, options in (("settings of roles", SETTINGS, {}), ("a session of such a role", AS_ONE, {"user": "settings_one"}),
                                  ("settings end", SETTINGS_END, {})):
        here, there = psql(node, script.encode(), **options), psql(postgres, script.encode(), **options)
        expect(name, here == there, (here, there))
    out, error = psql(node, b"ALTER SYSTEM SET work_mem = '1MB';")
    expect("ALTER SYSTEM is refused with a hint", b"0A000" in error and b"HINT" in error, error)


def check_database(node):
    def run(text, **options):
        return psql(node, text.encode(), **options)

    expect("a database that is there", b"42P04" in run("CREATE DATABASE scyper;")[1] and b"42P04" in run("CREATE DATABASE postgres;")[1])
    expect("one that is not", b"does not exist, skipping" in run("DROP DATABASE IF EXISTS shop;")[1] and b"3D000" in run("DROP DATABASE shop;")[1])
    expect("nobody connects to it", b'database "shop" does not exist' in run("SELECT 1", dbname="shop")[1])
    run("CREATE TABLE kept (a integer);")
    error = run("CREATE DATABASE shop;")[1]
    expect("not while there are objects", b"0A000" in error and b"HINT" in error, error)
    run("DROP TABLE kept;")
    expect("not in a block", b"25001" in run("BEGIN; CREATE DATABASE shop;", dbname="postgres")[1])
    expect("it is made", run("CREATE DATABASE shop ENCODING 'unicode' TEMPLATE template0;", dbname="postgres") == (b"CREATE DATABASE\n", b""))
    out, error = run("SELECT current_database(), current_catalog; SELECT datname FROM pg_database; CREATE TABLE t (a integer DEFAULT 1 + 2);"
                     "SELECT table_catalog, column_default FROM information_schema.columns WHERE table_name = 't';", dbname="shop")
    expect("it is used", out == b"shop|shop\nshop\nCREATE TABLE\nshop|(1 + 2)\n", (out, error))
    expect("there is one", b"0A000" in run("CREATE DATABASE other;")[1] and b"42P04" in run("CREATE DATABASE shop;")[1])
    expect("not one's own", b"55006" in run("DROP DATABASE shop;", dbname="shop")[1])
    expect("encodings are UTF8", b"0A000" in run("CREATE DATABASE other ENCODING 'LATIN1';")[1])
    expect("settings of it", run("ALTER DATABASE shop SET geqo = off;")[1] == b"" and run("SHOW geqo")[0] == b"off\n")
    expect("another name", run("ALTER DATABASE shop RENAME TO store;")[1] == b"" and run("SELECT current_database()", dbname="store")[0] == b"store\n")
    expect("it goes", run("DROP DATABASE store;", dbname="postgres") == (b"DROP DATABASE\n", b""))
    out = run("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'; SELECT current_database(); SHOW geqo;")[0]
    expect("with all that was in it", out == b"0\nscyper\non\n", out)


def main():
    node = Node(sys.argv[1])
    postgres = Postgres(tempfile.mkdtemp(prefix="scyper-postgres-"))
    try:
        check_encodings(node, postgres)
        check_settings(node, postgres)
        check_database(node)
        expect("the node stops", node.stop() == 0)
    finally:
        postgres.stop()
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
