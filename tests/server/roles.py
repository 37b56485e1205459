#!/usr/bin/env python3
"""Roles of the catalog at a node's ports: passwords at PostgreSQL's, certificates' names by gRPC, the audit log.

Usage: roles.py SCYPERD SCYPER
Debian: postgresql-client-15. Each check says what it found; the last line counts the failures, and so does the exit code.
"""
import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request

from postgres_servers import CHECKS, Node, expect
from checks import run, wait_for

SECRETS = ["sesame-of-admin", "sesame-of-app", "sesame-anew", "sesame-of-own", "sesame-in-block"]


def psql(node, *commands, user="admin", password=None, env=()):
    """Exit code, output and errors."""
    arguments = [part for command in commands for part in ("-c", command)]
    environment = {**os.environ, "PGCONNECT_TIMEOUT": "60", "PGSSLMODE": "disable", **({"PGPASSWORD": password} if password else {}), **dict(env)}
    done = subprocess.run(["psql", "-X", "-At", "-w", "-v", "VERBOSITY=verbose", "-h", "localhost", "-p", str(node.port), "-U", user, *arguments, "scyper"],
                          text=True, capture_output=True, timeout=120, env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


def check_before(node):
    code, out, err = psql(node, "SELECT current_user, session_user", user="anybody")
    expect("without roles anybody of this machine comes in", out == "scyper|scyper\n", (out, err))
    code, out, err = psql(node, "CREATE ROLE plain LOGIN", "CREATE TABLE items (id integer PRIMARY KEY, name text)", "INSERT INTO items VALUES (1, 'one')",
                          "CREATE TABLE hidden (id integer)", "CREATE PROCEDURE put(i integer) LANGUAGE plpgsql AS 'BEGIN INSERT INTO items VALUES (i); END'",
                          user="anybody")
    expect("roles are made", code == 0, err)
    code, out, err = psql(node, "SELECT current_user, session_user", "SELECT * FROM items", user="plain")
    expect("who is known is who he is, and may what his role may", out == "plain|plain\n" and "42501" in err, (out, err))
    code, out, err = psql(node, "CREATE USER app PASSWORD 'sesame-of-app' CONNECTION LIMIT 5", "ALTER ROLE plain NOLOGIN", "GRANT SELECT ON items TO app",
                          "CREATE ROLE admin LOGIN SUPERUSER PASSWORD 'sesame-of-admin'", user="anybody")
    expect("a superuser with a password", code == 0, err)


def check_passwords(node):
    for who in ("anybody", "plain", "scyper"):
        code, out, err = psql(node, "SELECT 1", user=who, password="x")
        expect(f"{who} is kept out then", code == 2 and "password authentication failed" in err, err)
    code, out, err = psql(node, "SELECT current_user", "SHOW is_superuser", "SHOW session_authorization", password="sesame-of-admin")
    expect("the superuser comes in", out == "admin\non\nadmin\n", (out, err))
    code, out, err = psql(node, "SELECT current_user", "SELECT name FROM items", "SHOW is_superuser", "INSERT INTO items VALUES (2)", user="app", password="sesame-of-app")
    expect("the application may what it may", out == "app\none\noff\n" and "permission denied for table items" in err and "42501" in err, (out, err))
    for command in ("SELECT * FROM hidden", "CALL put(2)", "CREATE TABLE x (a integer)", "CREATE ROLE x", "DROP TABLE items", "TRUNCATE items", "SET ROLE admin",
                    "BEGIN; INSERT INTO items VALUES (3); COMMIT", "BEGIN; SELECT * FROM hidden; COMMIT", "BEGIN; UPDATE items SET name = 'x'; COMMIT", "BEGIN; CALL put(2); COMMIT",
                    "COPY items TO STDOUT; COPY items FROM STDIN", "GRANT SELECT ON hidden TO plain", "ALTER ROLE app SUPERUSER", "SET ROLE scyper"):
        code, out, err = psql(node, command, user="app", password="sesame-of-app")
        expect(f"and not: {command}", code == 1 and "42501" in err, (out, err))
    code, out, err = psql(node, "SELECT 1", user="app", password="sesame-of-admin")
    expect("a wrong password", code == 2 and "password authentication failed" in err, err)
    code, out, err = psql(node, "ALTER USER app PASSWORD 'sesame-anew'", user="app", password="sesame-of-app")
    expect("its password is its own", code == 0, err)
    code, out, err = psql(node, "SELECT 1", user="app", password="sesame-anew")
    expect("and counts at once", code == 0, err)
    code, out, err = psql(node, "ALTER USER app VALID UNTIL '2001-01-01'", password="sesame-of-admin")
    code, out, err = psql(node, "SELECT 1", user="app", password="sesame-anew")
    expect("not when its time is over", code == 2 and "password authentication failed" in err, err)
    code, out, err = psql(node, "ALTER USER app VALID UNTIL 'infinity' CONNECTION LIMIT 0", password="sesame-of-admin")
    code, out, err = psql(node, "SELECT 1", user="app", password="sesame-anew")
    expect("nor beyond its number of connections", code == 2 and "too many connections for role" in err, err)
    code, out, err = psql(node, "ALTER USER app CONNECTION LIMIT -1 NOLOGIN", password="sesame-of-admin")
    code, out, err = psql(node, "SELECT 1", user="app", password="sesame-anew")
    expect("nor without LOGIN", code == 2 and "is not permitted to log in" in err, err)
    code, out, err = psql(node, "ALTER USER app LOGIN", "CREATE ROLE team", "GRANT team TO app", "GRANT INSERT ON items TO team", "SET ROLE app", "SELECT current_user, session_user",
                          "SET ROLE team", "SELECT current_user", "RESET ROLE", "SELECT current_user", "DROP ROLE admin", password="sesame-of-admin")
    expect("SET ROLE and back", "app|admin\n" in out and "team\n" in out and out.endswith("admin\n") and "current user cannot be dropped" in err, (out, err))
    code, out, err = psql(node, "CALL put(2)", "SELECT count(*) FROM items", user="app", password="sesame-anew")
    expect("what a group may", out == "CALL\n2\n", (out, err))
    code, out, err = psql(node, "DO $$ BEGIN CREATE ROLE x PASSWORD 'sesame-in-block'; END $$", password="sesame-of-admin")
    expect("no passwords in blocks", "0A000" in err, err)
    code, out, err = psql(node, "\\du", "\\dp items", password="sesame-of-admin")
    expect("psql lists roles and rights", "app|" in out and "app=r/scyper" in out and "team=a/scyper" in out, (out, err))


class OpenSession:
    """A session that stays open between statements."""

    def __init__(self, node, user, password):
        environment = {**os.environ, "PGCONNECT_TIMEOUT": "60", "PGSSLMODE": "disable", "PGPASSWORD": password}
        self.psql = subprocess.Popen(["psql", "-X", "-Atq", "-w", "-v", "VERBOSITY=verbose", "-h", "localhost", "-p", str(node.port), "-U", user, "scyper"], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)

    def ask(self, sql):
        self.psql.stdin.write(f"{sql};\n\\echo behind it\n")
        self.psql.stdin.flush()
        return "".join(iter(self.psql.stdout.readline, "behind it\n"))

    def close(self):
        self.psql.stdin.close()
        self.psql.wait(timeout=60)


def check_open_sessions(node):
    """A session follows its role, whatever becomes of the name."""
    def admin(*commands):
        code, _, err = psql(node, *commands, password="sesame-of-admin")
        expect(f"admin: {commands[0]}", code == 0, err)
    admin("CREATE ROLE mover LOGIN PASSWORD 'sesame-of-own'", "CREATE ROLE crew", "GRANT crew TO mover", "GRANT SELECT ON items TO mover, crew")
    session, acting = (OpenSession(node, "mover", "sesame-of-own") for _ in range(2))
    try:
        acting.ask("SET ROLE crew")
        out = session.ask("SELECT current_user, count(*) > 0 FROM items") + acting.ask("SELECT current_user, session_user, count(*) > 0 FROM items")
        expect("sessions of a role", out == "mover|t\ncrew|mover|t\n", out)
        admin("ALTER ROLE mover RENAME TO moved", "ALTER ROLE crew RENAME TO team2", "CREATE ROLE mover SUPERUSER", "CREATE ROLE crew SUPERUSER")
        out = session.ask("SELECT current_user, count(*) > 0 FROM items") + acting.ask("SELECT current_user, session_user, count(*) > 0 FROM items")
        expect("it is renamed, and they go on", out == "moved|t\nteam2|moved|t\n", out)
        for command in ("SELECT * FROM hidden", "CREATE ROLE x", "BEGIN; UPDATE items SET name = 'x'; ROLLBACK"):
            for which in (session, acting):
                out = which.ask(command)
                expect(f"without the rights of who has its name now: {command}", "42501" in out, out)
        admin("REVOKE ALL ON items FROM moved", "DROP ROLE moved", "CREATE ROLE moved SUPERUSER")
        for which in (session, acting):
            out = which.ask("SELECT count(*) FROM items")
            expect("it is dropped, and they are nobody's", "28000" in out, out)
    finally:
        session.close()
        acting.close()
    admin("REVOKE ALL ON items FROM team2", "DROP ROLE mover, moved, crew, team2")


def check_guessing(node):
    def refused():
        err = psql(node, "SELECT 1", user="victim", password="guess")[2]
        return "too many wrong passwords" in err
    wait_for("guesses have to wait", refused)
    expect("who guesses has to wait", True)
    code, out, err = psql(node, "SELECT 1", password="sesame-of-admin")
    expect("others do not", code == 0, err)


def audit(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def check_secrets(node, directory, log):
    text = urllib.request.urlopen(node.metrics).read().decode() + urllib.request.urlopen(node.metrics.replace("metrics", "status.json")).read().decode()
    for path in [path for path in directory.rglob("*") if path.is_file()]:
        text += path.read_bytes().decode("latin-1")
    expect("no password is kept anywhere", not [secret for secret in SECRETS if secret in text], [secret for secret in SECRETS if secret in text])
    acts = audit(log)
    expect("acts are in the audit log", any(a["who"] == "admin" and a["act"].startswith("ALTER USER app LOGIN") and a["result"] == "ok" for a in acts), acts[-5:])
    expect("without passwords and verifiers", not any("SCRAM" in a["act"] or "sesame" in a["act"] for a in acts) and any("'********'" in a["act"] for a in acts))
    expect("refused ones, too", any(a["who"] == "app" and a.get("sqlstate") == "42501" for a in acts) and
           any(a["act"] == "login" and a["who"] == "anybody" and a.get("sqlstate") == "28P01" for a in acts), acts[-5:])
    refused = re.search(r"^scyper_postgres_refused_total(?:\{.*\})? (\d+)", text, re.M)
    expect("refusals are counted", refused is not None and int(refused.group(1)) >= 5, refused)


def check_restart(node):
    code, out, err = psql(node, "SELECT current_user", "SELECT count(*) FROM items", user="app", password="sesame-anew")
    expect("roles outlive the node", out == "app\n2\n", (out, err))
    code, out, err = psql(node, "SELECT current_user, count(*) FROM items", user="own", password="sesame-of-own")
    expect("the file of users goes on", out == "scyper|2\n", (out, err))


def check_certificates(scyper, made, port, node, log):
    def call(who, *command):
        return run(scyper, "--target", f"localhost:{port}", "--ca", made / "ca.pem", "--cert", made / f"{who}.pem", "--key", made / f"{who}.key", *command)
    def sql(who, text):
        return call(who, "sql", "-c", text)
    code, out = sql("admin", "SELECT current_user")
    expect("a superuser's certificate", code == 0 and "admin" in out, out)
    code, out = sql("admin", "CREATE ROLE ops LOGIN; CREATE ROLE ann LOGIN; GRANT scyper_operator TO ops; GRANT scyper_analyst TO ann; GRANT scyper_client TO app; "
                             "GRANT SELECT ON items TO ann; ALTER ROLE ann PASSWORD 'sesame-of-own'")
    expect("gives the classes", code == 0, out)
    code, out = sql("app", "SELECT count(*) FROM items")
    expect("a client asks", code == 0 and "2" in out, out)
    code, out = sql("app", "CALL put(3)")
    expect("and calls", code == 0, out)
    for text in ("SELECT * FROM hidden", "CREATE TABLE x (a integer)", "GRANT scyper_operator TO app"):
        code, out = sql("app", text)
        expect(f"not: {text}", code != 0 and "denied" in out or "must have admin option" in out, (code, out))
    code, out = call("app", "backup")
    expect("an operator's verb is refused to a client", code != 0 and "may not call" in out, (code, out))
    code, out = sql("ann", "SELECT count(*) FROM items")
    expect("an analyst asks", code == 0 and "3" in out, out)
    for text in ("DELETE FROM items", "CALL put(9)", "SELECT setval('none', 1)", "CREATE ROLE x"):
        code, out = sql("ann", text)
        expect(f"and changes nothing: {text}", code != 0, (code, out))
    code, out = call("ops", "backup")
    expect("an operator's backup", code == 0, out)
    code, out = sql("ops", "SELECT count(*) FROM items")
    expect("an operator asks for no rows", code != 0 and "may not call" in out, (code, out))
    for who in ("other", "node"):
        code, out = sql(who, "SELECT 1")
        expect(f"{who}: a certificate without a role", code != 0 and "is no role that may log in" in out, (code, out))
    acts = audit(log)
    expect("refused verbs are in the audit log", any(a["by"] == "grpc" and a["who"] == "app" and a["act"] == "/scyper.v1.Admin/Backup" for a in acts), acts[-5:])
    expect("so are backups", any(a["who"] == "ops" and a["act"].startswith("Backup") and a["result"] == "ok" for a in acts), acts[-5:])
    text = urllib.request.urlopen(node).read().decode()
    refused = re.search(r"^scyper_grpc_refused_total(?:\{.*\})? (\d+)", text, re.M)
    expect("and counted", refused is not None and int(refused.group(1)) >= 4, refused)


def free_port():
    """That a secondary can tell its primary of."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def check_cluster(scyperd, scyper, made, port, log, directory):
    """A secondary, whose certificate's role passes on what its clients want: they get their own rights wherever they ask."""
    def sql(who, target, *arguments):
        return run(scyper, "--target", f"localhost:{target}", "--ca", made / "ca.pem", "--cert", made / f"{who}.pem", "--key", made / f"{who}.key", "sql", *arguments)
    code, out = sql("admin", port, "-c", "CREATE ROLE node LOGIN IN ROLE scyper_member; CREATE ROLE second LOGIN IN ROLE scyper_member")
    expect("roles of nodes", code == 0, out)
    process = subprocess.Popen([scyperd, "--role", "secondary", "--primary", f"localhost:{port}", "--listen", f"localhost:{free_port()}", "--http-listen", "", "--postgres-listen",
                                "localhost:0", "--node-name", "second", "--memory", "512MB", "--authorization", "--audit-log", directory / "second.json", "--tls-cert",
                                made / "second.pem", "--tls-key", made / "second.key", "--tls-client-ca", made / "ca.pem"], stdout=subprocess.PIPE, text=True)
    try:
        line = next((line for line in process.stdout if "gRPC on port" in line), "")
        second, postgres = (int(re.search(pattern, line)[1]) for pattern in (r"gRPC on port (\d+)", r"PostgreSQL clients on port (\d+)"))
        threading.Thread(target=process.stdout.read, daemon=True).start()
        place = argparse.Namespace(port=postgres)
        env = {"PGSSLMODE": "require", "PGSSLCERT": str(made / "other.pem"), "PGSSLKEY": str(made / "other.key")}.items()  # names no role: the password counts

        def app(*commands):
            return psql(place, *commands, user="app", password="sesame-anew", env=env)
        wait_for("the secondary takes queries", lambda: app("SELECT count(*) FROM items")[1] == "3\n")
        code, out, err = app("INSERT INTO items VALUES (20)", "\\copy items (id) FROM PROGRAM 'echo 21'", "SELECT count(*), current_user FROM items", "CALL put(22)",
                             "CREATE TEMP TABLE x (a integer)")
        expect("what a role may it may on a secondary", out.startswith("INSERT 0 1\nCOPY 1\n5|app\n") and "CALL\n" in out, (out, err))
        for command in ("SELECT * FROM hidden", "DELETE FROM items", "\\copy hidden FROM PROGRAM 'echo 1'", "CREATE ROLE x", "SET ROLE admin", "CREATE TABLE x (a integer)"):
            code, out, err = app(command)
            expect(f"and not there: {command}", code == 1 and "42501" in err, (out, err))
        code, out, err = psql(place, "SELECT 1", user="app", password="wrong", env=env)
        expect("nor with a wrong password", code == 2 and "password authentication failed" in err, err)
        for who, text, state in (("app", "SELECT * FROM hidden", "permission denied for table hidden"), ("ann", "DELETE FROM items", ""), ("ops", "SELECT 1", "may not call"), ("other", "SELECT 1", "no role")):
            code, out = sql(who, second, "-c", text)
            expect(f"{who} by gRPC, not: {text}", code != 0 and state in out, (code, out))
        code, out = sql("ann", second, "-c", "SELECT count(*) FROM items")
        expect("an analyst asks a secondary", code == 0 and "6" in out, (code, out))
        wait_for("the primary passes an analyst's query on", lambda: "node second" in sql("ann", port, "-q", "--receipts", "-c", "SELECT count(*) FROM items")[1])
        for target in (port, second):
            code, out = sql("ann", target, "-c", "SELECT * FROM hidden")
            expect("whoever runs it asks for her rights", code != 0 and "permission denied for table hidden" in out, (code, out))
        refused = [act for path in (log, directory / "second.json") for act in audit(path) if act["who"] in ("node", "second") and act["result"] != "ok" and act["act"] != "login"
                   and "/scyper.v1" not in act["act"]]
        expect("nothing is refused to nodes", refused == [], refused)
    finally:
        process.terminate()
        expect("the secondary stops", process.wait(timeout=120) == 0)


def main():
    scyperd, scyper = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        log, data, made = temporary / "audit.json", temporary / "data", temporary / "made"
        flags = ["--data-directory", data, "--audit-log", log]
        node = Node(scyperd, *flags, has_http=True)
        check_before(node)
        check_passwords(node)
        check_open_sessions(node)
        check_guessing(node)
        check_secrets(node, data, log)
        expect("the node stops", node.stop() == 0)
        users = temporary / "users"
        users.write_text("own:sesame-of-own\n")
        users.chmod(0o600)
        node = Node(scyperd, *flags, "--postgres-users", users)
        check_restart(node)
        expect("the node stops", node.stop() == 0)
        code, out = run(scyper, "certs", made, "--node", "node", "--node", "second", *[part for who in ("admin", "app", "ann", "ops", "other") for part in ("--client", who)])
        expect("certificates", code == 0, out)
        code, out = run(scyperd, "--listen", "localhost:0", "--authorization")
        expect("authorization needs certificates", code != 0 and "tls_client_ca" in out, out)
        process = subprocess.Popen([scyperd, "--listen", "localhost:0", "--http-listen", "localhost:0", "--partitions", "4", "--workers", "2", "--memory", "1GB", "--authorization", "--replication",
                                    *flags, "--tls-cert", made / "node.pem", "--tls-key", made / "node.key", "--tls-client-ca", made / "ca.pem"],
                                   stdout=subprocess.PIPE, text=True)
        try:
            line = next((line for line in process.stdout if "gRPC on port" in line), "")
            port = re.search(r"gRPC on port (\d+)", line).group(1)
            check_certificates(scyper, made, port, re.search(r"http://\S*/metrics", line).group(0), log)
            check_cluster(scyperd, scyper, made, port, log, temporary)
        finally:
            process.terminate()
            expect("the node stops", process.wait(timeout=120) == 0)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
