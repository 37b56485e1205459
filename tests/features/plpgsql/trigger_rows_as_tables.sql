CREATE TABLE t (id integer PRIMARY KEY, v integer, a integer[]);
CREATE TABLE log (n serial, what text);
CREATE TABLE totals (k integer PRIMARY KEY, n bigint DEFAULT 0);
INSERT INTO totals SELECT g, 0 FROM generate_series(0, 2) g;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT id FROM fresh ORDER BY id DESC; x integer;
BEGIN
  OPEN c; FETCH c INTO x; CLOSE c;
  INSERT INTO log (what) VALUES ('last ' || coalesce(x::text, 'none'));
  BEGIN
    INSERT INTO log (what) VALUES ('lost');
    PERFORM 1 / (SELECT count(*) - count(*) FROM fresh);
  EXCEPTION WHEN division_by_zero THEN INSERT INTO log (what) SELECT 'caught ' || count(*) FROM fresh;
  END;
  WITH k AS (SELECT v % 3 AS k, count(*) AS n FROM fresh GROUP BY 1) UPDATE totals SET n = totals.n + k.n FROM k WHERE k.k = totals.k;
  UPDATE totals SET n = totals.n + 100 FROM fresh WHERE fresh.id = 1 AND totals.k = 0;
  IF (SELECT count(*) FROM fresh) > 2 THEN INSERT INTO t (id, v) SELECT id + 100, v FROM fresh WHERE id < 3; END IF;
  INSERT INTO log (what) SELECT 'w ' || id || ' ' || rank() OVER (ORDER BY id) FROM (SELECT id FROM fresh UNION ALL SELECT -id FROM fresh) u ORDER BY id LIMIT 2;
  RETURN NULL;
END $$;
CREATE TRIGGER i AFTER INSERT ON t REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION f();
INSERT INTO t (id, v) VALUES (1, 1), (2, 2), (3, 3);
SELECT what FROM log ORDER BY n;
SELECT * FROM totals ORDER BY k;
SELECT id, v FROM t ORDER BY id;
TRUNCATE log;
COPY t (id, v) FROM STDIN;
50	1
51	2
\.
SELECT what FROM log ORDER BY n;
CREATE TABLE c (id integer PRIMARY KEY, t integer REFERENCES t ON DELETE CASCADE);
INSERT INTO c VALUES (1, 1), (2, 2), (3, 1);
CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'gone %', (SELECT string_agg(id::text, ',' ORDER BY id) FROM gone); RETURN NULL; END $$;
CREATE TRIGGER d AFTER DELETE ON c REFERENCING OLD TABLE AS gone EXECUTE FUNCTION g();
DELETE FROM c WHERE id = 2;
DELETE FROM t WHERE id = 1;
CREATE VIEW w AS SELECT id, v, a, 'x' AS lit, NULL AS nothing FROM t;
CREATE FUNCTION h() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % %', TG_OP, OLD, NEW; IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$;
CREATE TRIGGER h INSTEAD OF INSERT OR UPDATE OR DELETE ON w FOR EACH ROW EXECUTE FUNCTION h();
INSERT INTO w (id, v, a) VALUES (9, 9, '{1,2}') RETURNING *;
INSERT INTO w VALUES (9, 9, '{1,2}', 'y', 'z') RETURNING *;
INSERT INTO w DEFAULT VALUES;
UPDATE w SET a[1] = 7 WHERE id = 2 RETURNING a;
UPDATE w SET (v, a) = (SELECT 5, ARRAY[id]) WHERE id = 2 RETURNING v, a;
UPDATE w SET lit = lit || v, nothing = 'n' WHERE id IN (SELECT id FROM t WHERE id < 3) RETURNING lit, nothing;
DELETE FROM w WHERE id = 2 RETURNING *;
WITH x AS (SELECT 2 AS id) DELETE FROM w USING x WHERE w.id = x.id RETURNING w.id, x.id AS other;
-- differs: not supported
WITH x AS (INSERT INTO w (id) VALUES (1) RETURNING id) SELECT * FROM x;
CREATE FUNCTION put(n integer) RETURNS integer LANGUAGE sql AS $$ INSERT INTO w (id, v) VALUES (n, n) RETURNING v $$;
SELECT put(4);
-- differs: plans
EXPLAIN INSERT INTO w (id) VALUES (1);
-- differs: plans
EXPLAIN UPDATE w SET v = 1 WHERE id = 3;
-- differs: texts
MERGE INTO w USING t ON t.id = w.id WHEN MATCHED THEN DELETE;
-- differs: texts
INSERT INTO w (id) VALUES (1) ON CONFLICT DO NOTHING;
CREATE MATERIALIZED VIEW m AS WITH x AS (SELECT id, v FROM t) SELECT x.id, count(*) AS n FROM x JOIN c ON true GROUP BY x.id;
SELECT count(*) FROM m;
CREATE VIEW over_m AS SELECT max(n) AS n FROM m;
SELECT * FROM over_m;
