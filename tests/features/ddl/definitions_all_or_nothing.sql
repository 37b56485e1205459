-- A definition of several objects or actions whose last one fails leaves nothing of the others.
CREATE TABLE t (a integer PRIMARY KEY, b text, c integer, d integer);
CREATE INDEX t_b ON t (b);
CREATE INDEX t_c ON t (c);
CREATE UNIQUE INDEX t_lower ON t (lower(b));
CREATE INDEX t_part ON t (c) WHERE d > 0;
INSERT INTO t VALUES (1, 'one', 10, 1), (2, 'two', 20, 0), (3, 'three', 10, 1);
-- indexes
DROP INDEX t_b, missing;
SELECT indexname FROM pg_indexes WHERE tablename = 't' ORDER BY indexname;
SELECT a FROM t WHERE b = 'two';
INSERT INTO t VALUES (4, 'four', 20, 1);
DROP INDEX t_b, t_pkey;
DROP INDEX t_lower, t_pkey;
DROP INDEX t_part, t_c, missing;
INSERT INTO t VALUES (5, 'FOUR', 20, 1);
SELECT a FROM t WHERE lower(b) = 'four';
SELECT a FROM t WHERE c = 20 AND d > 0 ORDER BY a;
DROP INDEX IF EXISTS t_b, missing, t_part;
SELECT indexname FROM pg_indexes WHERE tablename = 't' ORDER BY indexname;
DROP INDEX t_c, t_lower, t_c;
SELECT indexname FROM pg_indexes WHERE tablename = 't' ORDER BY indexname;
INSERT INTO t VALUES (5, 'FOUR', 20, 1);
SELECT a FROM t WHERE c = 20 ORDER BY a;
-- a unique index that the rows refuse
INSERT INTO t VALUES (6, 'one', 30, 3);
CREATE UNIQUE INDEX t_unique ON t (b);
SELECT indexname FROM pg_indexes WHERE tablename = 't' ORDER BY indexname;
INSERT INTO t VALUES (7, 'one', 30, 3);
-- an index that a foreign key needs
CREATE TABLE parent (id integer, code integer);
CREATE UNIQUE INDEX parent_id ON parent (id);
CREATE INDEX parent_code ON parent (code);
CREATE TABLE child (id integer REFERENCES parent (id));
INSERT INTO parent VALUES (1, 100);
DROP INDEX parent_code, parent_id;
SELECT indexname FROM pg_indexes WHERE tablename = 'parent' ORDER BY indexname;
INSERT INTO child VALUES (2);
SELECT * FROM parent WHERE code = 100;
-- tables, views, types, functions, sequences
CREATE TABLE one (a integer);
CREATE TABLE two (a integer);
INSERT INTO one VALUES (1);
CREATE VIEW seen AS SELECT a FROM two;
DROP TABLE one, two;
SELECT * FROM one;
DROP TABLE one, missing;
SELECT * FROM one;
CREATE VIEW seen2 AS SELECT 1 AS x;
DROP VIEW seen2, missing;
SELECT * FROM seen2;
CREATE VIEW above AS SELECT * FROM seen;
DROP VIEW seen2, seen;
SELECT * FROM seen2;
CREATE TYPE colour AS ENUM ('red');
CREATE TYPE size AS ENUM ('small');
CREATE TABLE sized (s size);
DROP TYPE colour, size;
SELECT 'red'::colour;
DROP TYPE colour, missing;
SELECT 'red'::colour;
CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'SELECT 1';
DROP FUNCTION f(), g();
SELECT f();
CREATE SEQUENCE s1;
DROP SEQUENCE s1, missing;
SELECT nextval('s1');
CREATE SCHEMA first;
CREATE SCHEMA second;
CREATE TABLE second.inside (a integer);
DROP SCHEMA first, second;
SELECT nspname FROM pg_namespace WHERE nspname IN ('first', 'second') ORDER BY nspname;
DROP SCHEMA first, missing;
SELECT nspname FROM pg_namespace WHERE nspname IN ('first', 'second') ORDER BY nspname;
DROP TABLE one, one;
SELECT * FROM one;
-- ALTER TABLE with several actions
CREATE TABLE many (a integer, b text);
INSERT INTO many VALUES (1, 'x'), (2, 'y');
ALTER TABLE many ADD COLUMN c integer DEFAULT 7, DROP COLUMN missing;
SELECT * FROM many ORDER BY a;
ALTER TABLE many ADD PRIMARY KEY (a), ADD CONSTRAINT positive CHECK (a > 1);
INSERT INTO many VALUES (1, 'again');
ALTER TABLE many DROP COLUMN b, ALTER COLUMN a SET DEFAULT 5, ADD CONSTRAINT u UNIQUE (a);
SELECT * FROM many ORDER BY a, b;
INSERT INTO many (b) VALUES ('no default');
SELECT * FROM many ORDER BY a, b;
CREATE INDEX many_expr ON many ((a + 1));
ALTER TABLE many ALTER COLUMN a TYPE bigint, ALTER COLUMN b TYPE integer USING b::integer;
SELECT indexname FROM pg_indexes WHERE tablename = 'many' ORDER BY indexname;
SELECT b FROM many WHERE a + 1 = 3 ORDER BY b;
INSERT INTO many VALUES (3, 'z');
SELECT * FROM many ORDER BY a, b;
-- CREATE TABLE and CREATE SCHEMA
CREATE TABLE made (a integer PRIMARY KEY, b integer UNIQUE, c integer REFERENCES missing (id));
SELECT count(*) FROM pg_class WHERE relname LIKE 'made%';
CREATE TABLE made (a integer PRIMARY KEY, b serial, CHECK (nowhere > 1));
SELECT count(*) FROM pg_class WHERE relname LIKE 'made%';
CREATE SCHEMA whole CREATE TABLE a (x integer) CREATE VIEW v AS SELECT y FROM whole.a;
SELECT count(*) FROM pg_namespace WHERE nspname = 'whole';
-- rows that fail
CREATE TABLE filled AS SELECT 10 / (3 - i) AS x FROM generate_series(1, 5) i;
SELECT count(*) FROM pg_class WHERE relname = 'filled';
CREATE TABLE source (x integer);
INSERT INTO source VALUES (1), (2);
CREATE MATERIALIZED VIEW kept AS SELECT 10 / x AS y FROM source;
INSERT INTO source VALUES (0);
REFRESH MATERIALIZED VIEW kept;
SELECT * FROM kept ORDER BY y;
CREATE MATERIALIZED VIEW broken AS SELECT 10 / x AS y FROM source;
SELECT count(*) FROM pg_class WHERE relname = 'broken';
-- rights, comments, truncation
CREATE ROLE all_or_nothing_reader;
GRANT SELECT ON source, missing TO all_or_nothing_reader;
SELECT has_table_privilege('all_or_nothing_reader', 'source', 'SELECT');
GRANT SELECT ON source TO all_or_nothing_reader, all_or_nothing_missing;
SELECT has_table_privilege('all_or_nothing_reader', 'source', 'SELECT');
TRUNCATE source, missing;
SELECT * FROM source ORDER BY x;
TRUNCATE source, parent;
SELECT * FROM source ORDER BY x;
SELECT * FROM parent;
DROP ROLE all_or_nothing_reader, all_or_nothing_missing;
SELECT count(*) FROM pg_roles WHERE rolname = 'all_or_nothing_reader';
DROP ROLE all_or_nothing_reader;
-- within an EXCEPTION block
DO $$
BEGIN
  CREATE TABLE inner_one (a integer);
  BEGIN
    EXECUTE 'CREATE INDEX inner_one_a ON inner_one (a)';
    EXECUTE 'DROP INDEX inner_one_a, missing';
  EXCEPTION WHEN undefined_object THEN
    RAISE NOTICE 'dropped none: %', SQLERRM;
  END;
END $$;
SELECT indexname FROM pg_indexes WHERE tablename = 'inner_one' ORDER BY indexname;
DO $$
BEGIN
  EXECUTE 'ALTER TABLE many ADD COLUMN n integer, ADD COLUMN a integer';
EXCEPTION WHEN duplicate_column THEN
  RAISE NOTICE '%', SQLERRM;
END $$;
SELECT * FROM many ORDER BY a, b;
