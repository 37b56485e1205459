CREATE TABLE t (id integer PRIMARY KEY, v integer, label text DEFAULT 'x', twice integer GENERATED ALWAYS AS (v * 2) STORED);
CREATE TABLE log (n serial, what text);
CREATE FUNCTION inserted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record; total bigint;
BEGIN
  SELECT count(*), sum(v) INTO r FROM fresh;
  INSERT INTO log (what) VALUES (TG_NAME || ' ' || TG_LEVEL || ' ' || r.count || ' rows, ' || coalesce(r.sum, 0));
  FOR r IN SELECT * FROM fresh ORDER BY id LOOP
    INSERT INTO log (what) VALUES (r.id || ' ' || coalesce(r.label, 'none') || ' ' || coalesce(r.twice, 0));
  END LOOP;
  INSERT INTO log (what) SELECT 'join ' || a.id || ' ' || t.v FROM fresh a JOIN t USING (id) WHERE a.v > 10 ORDER BY a.id;
  RETURN NULL;
END $$;
CREATE FUNCTION updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (what)
    SELECT o.id || ': ' || o.v || ' -> ' || n.v FROM before o JOIN after n USING (id) WHERE o.v IS DISTINCT FROM n.v ORDER BY o.id;
  INSERT INTO log (what) SELECT 'sum ' || (SELECT sum(v) FROM before) || ' ' || (SELECT sum(v) FROM after);
  RETURN NULL;
END $$;
CREATE FUNCTION deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM gone WHERE v < 0) THEN RAISE EXCEPTION 'negative row deleted'; END IF;
  INSERT INTO log (what) SELECT 'deleted ' || string_agg(id::text, ',' ORDER BY id) FROM gone HAVING count(*) > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER i AFTER INSERT ON t REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION inserted();
CREATE TRIGGER u AFTER UPDATE ON t REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION updated();
CREATE TRIGGER d AFTER DELETE ON t REFERENCING OLD TABLE gone FOR EACH STATEMENT EXECUTE FUNCTION deleted();
INSERT INTO t (id, v) VALUES (1, 10), (2, 20), (3, NULL);
INSERT INTO t (id, v, label) SELECT g, g, 'l' || g FROM generate_series(4, 8) g;
INSERT INTO t (id, v) SELECT 1, 1 WHERE false;
UPDATE t SET v = v + 1 WHERE id < 4;
UPDATE t SET label = 'y' WHERE id = 5;
UPDATE t SET v = 0 WHERE false;
DELETE FROM t WHERE id IN (4, 5);
DELETE FROM t WHERE false;
INSERT INTO t (id, v) VALUES (50, -1);
DELETE FROM t WHERE id = 50;
SELECT count(*) FROM t;
SELECT what FROM log ORDER BY n;
TRUNCATE log;
-- both events of one statement
INSERT INTO t (id, v) VALUES (1, 100), (60, 60) ON CONFLICT (id) DO UPDATE SET v = excluded.v;
SELECT what FROM log ORDER BY n;
TRUNCATE log;
MERGE INTO t USING (VALUES (1, 1), (2, 2), (70, 70), (71, 71)) AS s (id, v) ON t.id = s.id
  WHEN MATCHED AND s.id = 1 THEN UPDATE SET v = s.v WHEN MATCHED THEN UPDATE SET v = -s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v);
SELECT what FROM log WHERE what NOT LIKE '%rows%' ORDER BY what;
TRUNCATE log;
WITH gone AS (DELETE FROM t WHERE id >= 60 RETURNING id, v) INSERT INTO log (what) SELECT 'with ' || sum(v) FROM gone;
SELECT what FROM log ORDER BY what;
TRUNCATE log;
-- rows, too, see them
CREATE TABLE r (a integer);
CREATE FUNCTION each_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (what) SELECT NEW.a || ' of ' || count(*) FROM batch;
  RETURN NULL;
END $$;
CREATE TRIGGER r_each AFTER INSERT ON r REFERENCING NEW TABLE AS batch FOR EACH ROW EXECUTE FUNCTION each_row();
INSERT INTO r VALUES (1), (2), (3);
SELECT what FROM log ORDER BY n;
-- a table of that name is hidden, not lost
CREATE TABLE fresh (id integer, v integer, label text, twice integer);
INSERT INTO fresh VALUES (1000, 1000, 'real', 0);
TRUNCATE log;
INSERT INTO t (id, v) VALUES (80, 8);
SELECT what FROM log ORDER BY n;
SELECT * FROM fresh;
-- they are read only
CREATE FUNCTION spoils() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM batch; RETURN NULL; END $$;
DROP TRIGGER r_each ON r;
CREATE TRIGGER r_spoils AFTER INSERT ON r REFERENCING NEW TABLE AS batch FOR EACH STATEMENT EXECUTE FUNCTION spoils();
INSERT INTO r VALUES (4);
SELECT count(*) FROM r;
-- definitions
SELECT tgname, tgoldtable, tgnewtable, pg_get_triggerdef(oid) FROM pg_trigger ORDER BY tgname;
CREATE TRIGGER x BEFORE INSERT ON t REFERENCING NEW TABLE AS a FOR EACH STATEMENT EXECUTE FUNCTION inserted();
CREATE TRIGGER x AFTER INSERT ON t REFERENCING OLD TABLE AS a FOR EACH STATEMENT EXECUTE FUNCTION inserted();
CREATE TRIGGER x AFTER DELETE ON t REFERENCING NEW TABLE AS a FOR EACH STATEMENT EXECUTE FUNCTION inserted();
CREATE TRIGGER x AFTER INSERT OR UPDATE ON t REFERENCING NEW TABLE AS a FOR EACH STATEMENT EXECUTE FUNCTION inserted();
CREATE TRIGGER x AFTER UPDATE OF v ON t REFERENCING NEW TABLE AS a FOR EACH STATEMENT EXECUTE FUNCTION inserted();
CREATE TRIGGER x AFTER UPDATE ON t REFERENCING NEW TABLE AS a OLD TABLE AS a FOR EACH STATEMENT EXECUTE FUNCTION inserted();
CREATE TRIGGER x AFTER UPDATE ON t REFERENCING NEW TABLE AS a NEW TABLE AS b FOR EACH STATEMENT EXECUTE FUNCTION inserted();
CREATE TRIGGER x AFTER UPDATE ON t REFERENCING NEW ROW AS a FOR EACH ROW EXECUTE FUNCTION inserted();
-- a function that two triggers share
CREATE TABLE q (a integer);
CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %: %', TG_NAME, TG_OP, (SELECT count(*) FROM rows_of_it); RETURN NULL; END $$;
CREATE TRIGGER q_i AFTER INSERT ON q REFERENCING NEW TABLE AS rows_of_it FOR EACH STATEMENT EXECUTE FUNCTION counts();
CREATE TRIGGER q_d AFTER DELETE ON q REFERENCING OLD TABLE AS rows_of_it FOR EACH STATEMENT EXECUTE FUNCTION counts();
INSERT INTO q SELECT g FROM generate_series(1, 1000) g;
DELETE FROM q WHERE a % 3 = 0;
