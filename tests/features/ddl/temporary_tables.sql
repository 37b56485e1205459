-- Temporary tables of a session: made, filled, indexed, changed and dropped by statements of their own.
CREATE TABLE t (id integer PRIMARY KEY, v text);
INSERT INTO t VALUES (1, 'permanent');
CREATE TEMP TABLE work (id serial PRIMARY KEY, v text NOT NULL DEFAULT 'x', n numeric(10,2) CHECK (n >= 0));
INSERT INTO work (n) VALUES (1.5), (2), (3.25) RETURNING id, v, n;
INSERT INTO work (n) VALUES (-1);
INSERT INTO work (id, n) VALUES (1, 1);
UPDATE work SET v = 'y', n = n * 2 WHERE id > 1 RETURNING *;
DELETE FROM work WHERE id = 1;
SELECT * FROM work ORDER BY id;
CREATE INDEX ON work (v);
CREATE UNIQUE INDEX work_n ON work (n);
INSERT INTO work (n) VALUES (4);
ALTER TABLE work ADD COLUMN extra integer DEFAULT 7;
SELECT * FROM work ORDER BY id;
-- one that is there already
CREATE TEMP TABLE work (a integer);
CREATE TEMPORARY TABLE IF NOT EXISTS work (a integer);
-- it stands before a permanent one of its name
CREATE TEMP TABLE t AS SELECT 2 AS id, 'temporary' AS v;
SELECT * FROM t;
SELECT * FROM public.t;
INSERT INTO t SELECT id, v FROM public.t;
SELECT count(*) FROM t;
DROP TABLE t;
SELECT * FROM t;
-- of a query, with a name of its columns
CREATE TEMP TABLE copies (k, w) AS SELECT id, v FROM t WITH NO DATA;
INSERT INTO copies SELECT * FROM t;
SELECT * FROM copies;
SELECT id, v INTO TEMP more FROM t;
SELECT count(*) FROM more;
-- permanent ones made of temporary ones
CREATE TABLE kept AS SELECT id, n FROM work;
SELECT * FROM kept ORDER BY id;
-- foreign keys stay on their side
CREATE TEMP TABLE child (id integer REFERENCES t);
-- differs: permanent tables see no temporary ones
CREATE TABLE child (id integer REFERENCES work);
CREATE TEMP TABLE child (id integer REFERENCES work, parent integer);
INSERT INTO child VALUES (2, NULL), (3, NULL);
INSERT INTO child VALUES (99, NULL);
DELETE FROM work WHERE id = 2;
CREATE TEMP TABLE node (id integer PRIMARY KEY, parent integer REFERENCES node);
INSERT INTO node VALUES (1, NULL), (2, 1);
INSERT INTO node VALUES (3, 9);
TRUNCATE node;
SELECT count(*) FROM node;
-- what a commit leaves
CREATE TEMP TABLE gone (a integer) ON COMMIT DROP;
SELECT * FROM gone;
CREATE TEMP TABLE emptied (a integer) ON COMMIT DELETE ROWS;
INSERT INTO emptied VALUES (1), (2) RETURNING a;
SELECT count(*) FROM emptied;
CREATE TABLE wrong (a integer) ON COMMIT DROP;
CREATE TEMP TABLE public.wrong (a integer);
CREATE TEMP TABLE pg_temp.right_one (a integer);
INSERT INTO pg_temp.right_one VALUES (1);
SELECT * FROM right_one;
DROP TABLE pg_temp.right_one;
DROP TABLE work, child;
DROP TABLE work;
DROP TABLE IF EXISTS work;
