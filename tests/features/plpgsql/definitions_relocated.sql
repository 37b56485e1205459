-- Rows changed before a definition copied their table, taken back and kept. features_frozen: they lie in frozen chunks.
CREATE TABLE t (id integer PRIMARY KEY, v text, n integer);
INSERT INTO t SELECT i, 'row ' || i, i FROM generate_series(1, 20) i;
CREATE INDEX t_v ON t (v);
SELECT count(*) FROM t;
-- all of it fails
DO $$ BEGIN
  UPDATE t SET v = v || '!', n = n + 100 WHERE id <= 10;
  DELETE FROM t WHERE id = 20;
  ALTER TABLE t ADD COLUMN c integer DEFAULT 7;
  UPDATE t SET c = n, v = 'new ' || id WHERE id BETWEEN 5 AND 15;
  DELETE FROM t WHERE id = 1;
  DROP INDEX t_v;
  RAISE EXCEPTION 'no';
END $$;
SELECT * FROM t ORDER BY id;
SELECT id FROM t WHERE v = 'row 7';
SELECT id FROM t WHERE v = 'row 7!';
SELECT count(*) FROM t;
-- a block of it fails, between changes of the same rows
DO $$ BEGIN
  UPDATE t SET v = v || '?' WHERE id <= 3;
  BEGIN
    UPDATE t SET n = n * 10 WHERE id BETWEEN 2 AND 6;
    ALTER TABLE t ADD COLUMN c integer DEFAULT 7;
    UPDATE t SET c = id, n = 0 WHERE id BETWEEN 3 AND 8;
    DELETE FROM t WHERE id > 10;
    INSERT INTO t VALUES (4, 'twice', 4, 4);
  EXCEPTION WHEN unique_violation THEN
    RAISE NOTICE '%', SQLERRM;
  END;
  UPDATE t SET n = -n WHERE id BETWEEN 3 AND 5;
  DELETE FROM t WHERE id = 19;
END $$;
SELECT * FROM t ORDER BY id;
SELECT id, n FROM t WHERE v = 'row 3?';
-- kept
DO $$ BEGIN
  UPDATE t SET n = n + 1 WHERE id IN (1, 9);
  DELETE FROM t WHERE id = 18;
  ALTER TABLE t ADD COLUMN c integer DEFAULT 7;
  UPDATE t SET c = n WHERE id IN (9, 10);
END $$;
SELECT * FROM t ORDER BY id;
SELECT count(*) FROM t WHERE c = 7;
-- once more, with a table that is dropped
DO $$ BEGIN
  UPDATE t SET v = 'gone' WHERE id < 12;
  DROP TABLE t;
  CREATE TABLE t (id integer);
  INSERT INTO t VALUES (1);
  RAISE EXCEPTION 'no';
END $$;
SELECT id, v, n, c FROM t ORDER BY id;
UPDATE t SET v = 'kept' WHERE id IN (2, 17);
SELECT id FROM t WHERE v = 'kept' ORDER BY id;
