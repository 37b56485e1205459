#!/usr/bin/env python3
"""pg_dump of a node: its output loads into PostgreSQL 15 and into another node, and PostgreSQL's loads into a node.

Usage: postgres_dump.py SCYPERD
Each check says what it found; the exit code counts the failures.
"""
import re
import shutil
import subprocess
import sys
import tempfile

from postgres_servers import CHECKS, PATIENCE_S, Node, Postgres, expect

ROLES = "CREATE ROLE reader; CREATE ROLE keeper;"
SCHEMA = """
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO reader, keeper;
CREATE TYPE app.mood AS ENUM ('sad', 'ok', 'it''s fine');
CREATE DOMAIN app.positive AS integer DEFAULT 1 CHECK (VALUE > 0);
CREATE TYPE app.pair AS (x integer, y text);
CREATE SEQUENCE app.numbers INCREMENT 5 START 100 MAXVALUE 100000 CYCLE;
CREATE TABLE app.parent (id integer PRIMARY KEY, name varchar(40) NOT NULL DEFAULT 'x', m app.mood DEFAULT 'ok', p app.positive,
                         d numeric(10,2), at timestamptz DEFAULT now(), UNIQUE (name, d));
CREATE TABLE app.child (id bigint GENERATED ALWAYS AS IDENTITY, s serial, parent integer REFERENCES app.parent ON DELETE CASCADE,
                        g integer GENERATED ALWAYS AS (parent * 2) STORED, tags text[], j jsonb, moods app.mood[],
                        CONSTRAINT child_pk PRIMARY KEY (id), CONSTRAINT child_check CHECK (parent > 0 OR tags IS NULL));
CREATE TABLE app.odd (b char(5), f double precision DEFAULT 1.5, t time DEFAULT '12:00', i interval, u uuid, "Odd ""Name" integer,
                      CONSTRAINT odd_check CHECK ("Odd ""Name" <> 3));
CREATE TABLE late (id integer PRIMARY KEY DEFAULT nextval('app.numbers'), parent integer,
                   CONSTRAINT late_key FOREIGN KEY (parent) REFERENCES app.parent (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE keyed (id integer PRIMARY KEY DEFERRABLE, a integer, n numeric, CONSTRAINT keyed_a UNIQUE NULLS NOT DISTINCT (a),
                    CONSTRAINT keyed_n UNIQUE (n) DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX keyed_index ON keyed (a, n) NULLS NOT DISTINCT;
CREATE INDEX child_index ON app.child (parent, s DESC);
CREATE UNIQUE INDEX child_unique ON app.child (lower(name_of)) WHERE parent > 5;
CREATE VIEW app.joined AS SELECT p.id, p.name, count(c.id) AS n FROM app.parent p LEFT JOIN app.child c ON c.parent = p.id GROUP BY p.id, p.name;
CREATE VIEW app.a_view_of_joined AS SELECT id, n FROM app.joined WHERE n > 0;
CREATE MATERIALIZED VIEW app.kept AS SELECT id, m FROM app.parent WHERE id > 3;
CREATE VIEW app.a_view_of_kept AS SELECT id FROM app.kept;
CREATE FUNCTION app.add(a integer, b text DEFAULT 'q') RETURNS integer LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN a + length(b); END $$;
CREATE FUNCTION app.square(a integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT a * a';
CREATE FUNCTION app.rows(n integer) RETURNS TABLE (a integer, b text) LANGUAGE sql AS $$ SELECT id, name FROM app.parent WHERE id > n $$;
CREATE FUNCTION app.all_of(p app.positive) RETURNS SETOF app.parent LANGUAGE sql SECURITY DEFINER SET search_path TO 'app' AS $$ SELECT * FROM parent $$;
CREATE PROCEDURE app.step(INOUT a integer) LANGUAGE plpgsql AS $$ BEGIN a := a + 1; END $$;
CREATE FUNCTION app.note_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.tags := '{x}'; RETURN NEW; END $$;
CREATE TRIGGER child_changed BEFORE INSERT OR UPDATE OF parent ON app.child FOR EACH ROW WHEN (NEW.parent > 1) EXECUTE FUNCTION app.note_change();
COMMENT ON TABLE app.parent IS 'the parents';
COMMENT ON COLUMN app.parent.name IS 'its name';
COMMENT ON FUNCTION app.add(integer, text) IS 'adds';
GRANT SELECT, INSERT ON app.parent TO reader;
GRANT ALL ON late TO reader WITH GRANT OPTION;
GRANT SELECT ON app.joined TO PUBLIC;
GRANT EXECUTE ON FUNCTION app.add(integer, text) TO reader;
REVOKE EXECUTE ON FUNCTION app.square(integer) FROM PUBLIC;
GRANT USAGE ON SEQUENCE app.numbers TO reader;
ALTER TABLE app.parent OWNER TO keeper;
""".replace("lower(name_of)", "lower(j::text)")
ROWS = """
INSERT INTO app.parent (id, name) VALUES (7, 'seven');
INSERT INTO app.child (parent) VALUES (7);
INSERT INTO late (parent) VALUES (7);
INSERT INTO keyed VALUES (1, NULL, 'NaN'), (2, 2, 'Infinity'), (3, 3, '-Infinity');
UPDATE keyed SET id = id + 1, n = -n;
SELECT * FROM keyed;
REFRESH MATERIALIZED VIEW app.kept;
SELECT id, s, parent, g, tags FROM app.child;
SELECT * FROM app.a_view_of_joined;
SELECT * FROM app.a_view_of_kept;
SELECT m, p FROM app.parent;
SELECT app.add(1), app.square(3), (SELECT count(*) FROM app.all_of(1)), (SELECT b FROM app.rows(1));
SELECT id, parent FROM late;
SELECT has_table_privilege('reader', 'app.parent', 'INSERT'), has_table_privilege('reader', 'app.child', 'SELECT');
"""


def where(server):
    """libpq's arguments of a server."""
    if server.name == "postgres":
        return ["-h", server.directory, "-U", "postgres"], "postgres"
    return ["-h", "127.0.0.1", "-p", str(server.port), "-U", "scyper"], "scyper"


def psql(server, text):
    arguments, database = where(server)
    done = subprocess.run(["psql", "-X", "-q", "-A", "-v", "ON_ERROR_STOP=1", *arguments, database], input=text, text=True, capture_output=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


def dump(server, *options):
    """What pg_dump writes, without its header and the key of \\restrict."""
    arguments, database = where(server)
    done = subprocess.run(["pg_dump", *options, *arguments, database], text=True, capture_output=True, timeout=PATIENCE_S, check=False)
    expect(f"pg_dump of {server.name}", done.returncode == 0, done.stderr)
    return re.sub(r"^(\\(?:un)?restrict .*|-- Dumped .*)$", "", done.stdout, flags=re.M)


def main():
    if shutil.which("pg_dump") is None:
        print("skip  pg_dump: not installed", flush=True)
        return 0
    program = sys.argv[1]
    node, other, third, postgres = Node(program), Node(program), Node(program), Postgres(tempfile.mkdtemp())
    try:
        code, _, err = psql(node, ROLES + SCHEMA)
        expect("the schema", code == 0, err)
        ours = dump(node, "-s")
        for server in (other, postgres):
            code, _, err = psql(server, ROLES + ("CREATE ROLE scyper SUPERUSER;" if server is postgres else "") + ours)
            expect(f"a node's dump loads into {server.name}", code == 0, err)
        again = dump(other, "-s")
        expect("the same dump comes from there", again == ours, (len(again), len(ours)))
        theirs = dump(postgres, "-s", "--no-owner")
        code, _, err = psql(third, ROLES + theirs)
        expect("PostgreSQL's dump loads into a node", code == 0, err)
        answers = [psql(server, ROWS) for server in (postgres, other, third)]
        expect("rows in the loaded schema", answers[0][0] == 0, answers[0][2])
        for server, answer in zip(("other", "third"), answers[1:]):
            expect(f"the same rows in the {server} node", answer == answers[0], (answer, answers[0]))
    finally:
        for each in (node, other, third, postgres):
            each.stop()
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
