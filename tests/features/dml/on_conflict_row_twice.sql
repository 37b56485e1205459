CREATE TABLE t (id integer PRIMARY KEY, n integer, k text UNIQUE);
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b');
-- left alone by WHERE: the row may come again
INSERT INTO t VALUES (1, 1, 'x'), (1, 2, 'y') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE false RETURNING *;
INSERT INTO t VALUES (1, 1, 'x'), (1, 99, 'y') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE excluded.n > t.n RETURNING *;
INSERT INTO t VALUES (1, 1, 'x'), (2, 30, 'y'), (1, 2, 'z') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE excluded.n > t.n;
SELECT * FROM t ORDER BY id;
-- changed, or inserted: not
INSERT INTO t VALUES (1, 100, 'x'), (1, 0, 'y') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE excluded.n > t.n;
INSERT INTO t VALUES (3, 1, 'x'), (3, 2, 'y') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE false;
INSERT INTO t SELECT 1, g, 'q' FROM generate_series(1, 5) g ON CONFLICT (id) DO UPDATE SET n = -1 WHERE t.n IS NULL;
INSERT INTO t SELECT 1, g, 'q' FROM generate_series(1, 5) g ON CONFLICT (id) DO UPDATE SET n = -1 WHERE excluded.n = 4;
INSERT INTO t SELECT 1, g, 'q' FROM generate_series(1, 5) g ON CONFLICT (id) DO UPDATE SET n = -1 WHERE excluded.n = 5 RETURNING n, k;
SELECT * FROM t ORDER BY id;
-- by another key than the one that stands in its way first
INSERT INTO t VALUES (7, 1, 'a'), (8, 2, 'a') ON CONFLICT (k) DO UPDATE SET n = excluded.n WHERE excluded.n = 2 RETURNING *;
-- a trigger that leaves the row alone
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.n < 0 THEN RETURN NULL; END IF; RETURN NEW; END $$;
CREATE TRIGGER keep BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION keep();
INSERT INTO t VALUES (1, -5, 'x'), (1, -6, 'y'), (1, 7, 'z') ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING *;
INSERT INTO t VALUES (1, -5, 'x'), (1, 6, 'y'), (1, -7, 'z') ON CONFLICT (id) DO UPDATE SET n = excluded.n;
-- beside other parts of the statement
WITH u AS (UPDATE t SET n = 1000 WHERE id = 2 RETURNING id) INSERT INTO t VALUES (1, 1, 'x'), (1, 2, 'y') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE false;
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE twice(a integer) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t SELECT 2, g, 'q' FROM generate_series(1, 3) g ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE excluded.n = a;
  RAISE NOTICE '%', (SELECT n FROM t WHERE id = 2);
EXCEPTION WHEN cardinality_violation THEN
  RAISE NOTICE 'twice';
END $$;
CALL twice(3);
CALL twice(2);
CALL twice(9);
SELECT * FROM t ORDER BY id;
