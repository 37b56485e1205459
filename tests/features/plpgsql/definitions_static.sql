-- Definitions as statements of blocks and routines: what follows sees them.
DO $$ BEGIN
  CREATE TABLE t (id integer PRIMARY KEY, v text);
  INSERT INTO t VALUES (1, 'one'), (2, 'two');
  ALTER TABLE t ADD COLUMN n integer DEFAULT 7;
  INSERT INTO t (id, v, n) VALUES (3, 'three', 9);
  CREATE INDEX t_v ON t (v);
  UPDATE t SET n = n + 1 WHERE v = 'two';
END $$;
SELECT * FROM t ORDER BY id;
-- variables in statements behind a definition
DO $$ DECLARE k integer := 10; who text := 'ten'; r record; total bigint; BEGIN
  CREATE TABLE u (k2 integer PRIMARY KEY, who2 text);
  INSERT INTO u VALUES (k, who), (k + 1, upper(who));
  SELECT k2, who2 INTO r FROM u WHERE k2 = k;
  RAISE NOTICE 'r % %', r.k2, r.who2;
  total := (SELECT count(*) FROM u);
  RAISE NOTICE 'total % found %', total, FOUND;
  FOR r IN SELECT * FROM u ORDER BY k2 LOOP
    RAISE NOTICE 'loop % %', r.k2, r.who2;
    UPDATE u SET who2 = r.who2 || '!' WHERE k2 = r.k2;
  END LOOP;
  IF EXISTS (SELECT 1 FROM u WHERE who2 = 'TEN!') THEN
    RAISE NOTICE 'changed';
  END IF;
  DELETE FROM u WHERE k2 = 99;
  RAISE NOTICE 'found %', FOUND;
  PERFORM 1 FROM u WHERE k2 = k;
  RAISE NOTICE 'found %', FOUND;
  GET DIAGNOSTICS total = ROW_COUNT;
  RAISE NOTICE 'rows %', total;
END $$;
SELECT * FROM u ORDER BY k2;
-- an error takes definitions and rows back
DO $$ BEGIN
  CREATE TABLE w (a integer);
  INSERT INTO w VALUES (1);
  DROP TABLE u;
  ALTER TABLE t DROP COLUMN n;
  RAISE EXCEPTION 'no';
END $$;
SELECT * FROM w;
SELECT count(*) FROM u;
SELECT * FROM t ORDER BY id;
INSERT INTO t VALUES (4, 'four');
-- so does a block with EXCEPTION, and what was before it stays
DO $$ BEGIN
  CREATE TABLE w (a integer PRIMARY KEY);
  INSERT INTO w VALUES (1);
  BEGIN
    CREATE TABLE x (b integer);
    INSERT INTO x VALUES (1);
    ALTER TABLE w ADD COLUMN c integer DEFAULT 5;
    INSERT INTO w VALUES (2, 6);
    INSERT INTO w VALUES (2, 6);
  EXCEPTION WHEN unique_violation THEN
    RAISE NOTICE '%', SQLERRM;
  END;
  INSERT INTO w VALUES (3);
END $$;
SELECT * FROM w ORDER BY a;
SELECT * FROM x;
-- the usual way not to fail
DO $$ BEGIN
  CREATE TABLE w (a integer);
EXCEPTION WHEN duplicate_table THEN
  RAISE NOTICE 'it is there';
END $$;
DO $$ BEGIN
  CREATE TYPE mood AS ENUM ('sad', 'happy');
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
DO $$ BEGIN
  CREATE TYPE mood AS ENUM ('sad', 'happy');
EXCEPTION WHEN duplicate_object THEN RAISE NOTICE '%', SQLERRM;
END $$;
SELECT 'happy'::mood;
DO $$ BEGIN
  CREATE TABLE IF NOT EXISTS w (a integer);
  DROP TABLE IF EXISTS nowhere;
  DROP TABLE IF EXISTS w;
END $$;
SELECT * FROM w;
-- CREATE TABLE AS with variables
CREATE PROCEDURE make_copy(lowest integer) LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN
  CREATE TABLE copied AS SELECT id, v FROM t WHERE id >= lowest;
  GET DIAGNOSTICS n = ROW_COUNT;
  RAISE NOTICE 'copied %', n;
  INSERT INTO copied VALUES (lowest * 100, 'more');
END $$;
CALL make_copy(3);
SELECT * FROM copied ORDER BY id;
CALL make_copy(3);
DROP TABLE copied;
CALL make_copy(2);
SELECT count(*) FROM copied;
-- functions
CREATE FUNCTION make(n integer) RETURNS integer LANGUAGE plpgsql AS $$ DECLARE s integer; BEGIN
  CREATE TABLE made (a integer);
  INSERT INTO made SELECT g FROM generate_series(1, n) g;
  SELECT sum(a) INTO s FROM made;
  DROP TABLE made;
  RETURN s;
END $$;
SELECT make(4);
SELECT make(5);
SELECT make(2) + make(3);
SELECT * FROM made;
CREATE FUNCTION rows_of_new() RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN
  CREATE TABLE made (a integer);
  INSERT INTO made VALUES (3), (4);
  RETURN QUERY SELECT a FROM made ORDER BY a;
  DROP TABLE made;
END $$;
SELECT * FROM rows_of_new();
-- views, sequences, comments, schemas, constraints, renaming
DO $$ DECLARE n bigint; BEGIN
  CREATE SCHEMA s;
  CREATE TABLE s.t (a integer CHECK (a > 0));
  INSERT INTO s.t VALUES (1);
  CREATE VIEW s.v AS SELECT a * 2 AS b FROM s.t;
  SELECT b INTO n FROM s.v;
  RAISE NOTICE 'view %', n;
  CREATE SEQUENCE s.q START 5;
  n := nextval('s.q');
  RAISE NOTICE 'sequence %', n;
  COMMENT ON TABLE s.t IS 'a table';
  ALTER TABLE s.t ADD COLUMN c integer;
EXCEPTION WHEN others THEN
  RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END $$;
DO $$ DECLARE n bigint; BEGIN
  CREATE SEQUENCE q START 5;
  n := nextval('q');
  RAISE NOTICE 'sequence %', n;
  CREATE TABLE parent (id integer PRIMARY KEY);
  CREATE TABLE child (id integer REFERENCES parent ON DELETE CASCADE, n bigint DEFAULT nextval('q'));
  INSERT INTO parent VALUES (1), (2);
  INSERT INTO child (id) VALUES (1), (2), (2);
  DELETE FROM parent WHERE id = 2;
  ALTER TABLE child RENAME TO children;
  ALTER TABLE children ADD CONSTRAINT positive CHECK (id > 0);
  BEGIN
    INSERT INTO children (id) VALUES (-1);
  EXCEPTION WHEN check_violation THEN RAISE NOTICE '%', SQLERRM;
  END;
  COMMENT ON TABLE children IS 'of parents';
END $$;
SELECT * FROM children;
SELECT nextval('q');
SELECT obj_description('children'::regclass, 'pg_class');
INSERT INTO children (id) VALUES (7);
