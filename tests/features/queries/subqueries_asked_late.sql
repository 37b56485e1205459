-- A subquery runs when its value is asked for: AND, OR, CASE and COALESCE may not need it.
CREATE TABLE t (k integer PRIMARY KEY, x integer);
CREATE TABLE u (k integer, y integer);
INSERT INTO t VALUES (1, 0), (2, 1), (3, NULL);
INSERT INTO u VALUES (1, 0), (2, 1), (2, 5), (3, 2);
-- two rows for k = 2
SELECT k FROM t WHERE k = 2 OR x = (SELECT y FROM u WHERE u.k = t.k) ORDER BY k;
SELECT k FROM t WHERE k = 1 OR x = (SELECT y FROM u WHERE u.k = t.k) ORDER BY k;
SELECT k, k <> 2 AND x = (SELECT y FROM u WHERE u.k = t.k) FROM t ORDER BY k;
SELECT k, k <> 3 AND x = (SELECT y FROM u WHERE u.k = t.k) FROM t ORDER BY k;
SELECT k, CASE WHEN k <> 2 THEN (SELECT y FROM u WHERE u.k = t.k) ELSE -1 END FROM t ORDER BY k;
SELECT k, CASE k WHEN 2 THEN 7 WHEN (SELECT y FROM u WHERE u.k = t.k) THEN 8 ELSE 9 END FROM t ORDER BY k;
SELECT k, COALESCE(NULLIF(k, 3), (SELECT y FROM u WHERE u.k = t.k)) FROM t ORDER BY k;
SELECT k, COALESCE(x, (SELECT y FROM u WHERE u.k = 2)) FROM t WHERE k < 3 ORDER BY k;
SELECT k, COALESCE(x, (SELECT y FROM u WHERE u.k = 2)) FROM t ORDER BY k;
-- nothing around decides them
SELECT k FROM t WHERE k > 0 OR x = (SELECT y FROM u) ORDER BY k;
SELECT k FROM t WHERE k > 1 OR x = (SELECT y FROM u) ORDER BY k;
SELECT count(*) FROM t WHERE k > 0 OR x = (SELECT max(10 / y) FROM u);
SELECT count(*) FROM t WHERE k > 1 OR x = (SELECT max(10 / y) FROM u);
SELECT count(*) FROM t WHERE k > 0 OR EXISTS (SELECT FROM u WHERE 10 / y > 1);
SELECT count(*) FROM t WHERE k > 3 OR EXISTS (SELECT FROM u WHERE 10 / y > 100);
SELECT count(*) FROM t WHERE k > 0 OR x IN (SELECT 10 / y FROM u);
SELECT count(*) FROM t WHERE k > 1 OR x IN (SELECT 10 / y FROM u);
SELECT count(*) FROM t WHERE k > 0 OR x NOT IN (SELECT 10 / y FROM u);
SELECT count(*) FROM t WHERE NOT (k < 0 AND x = (SELECT max(10 / y) FROM u));
SELECT count(*) FROM t WHERE k > 0 OR x > ALL (SELECT 10 / y FROM u WHERE u.k = t.k);
-- division by zero of what is correlated
SELECT k FROM t WHERE k = 1 OR (SELECT sum(10 / y) FROM u WHERE u.k = t.k) > 5 ORDER BY k;
SELECT k FROM t WHERE k = 2 OR (SELECT sum(10 / y) FROM u WHERE u.k = t.k) > 5 ORDER BY k;
SELECT k, bool_or(k = 1 OR (SELECT sum(10 / y) FROM u WHERE u.k = t.k) > 5) FROM t GROUP BY k ORDER BY k;
SELECT count(*) FILTER (WHERE k = 1 OR (SELECT sum(10 / y) FROM u WHERE u.k = t.k) > 5) FROM t;
SELECT t.k FROM t JOIN u ON t.k = u.k AND (t.k = 1 OR 10 / u.y > 0) ORDER BY t.k;
-- once for all rows, or not at all
CREATE SEQUENCE s;
SELECT k, CASE WHEN k > 5 THEN (SELECT nextval('s')) END FROM t ORDER BY k;
SELECT nextval('s');
SELECT k, CASE WHEN k > 1 THEN (SELECT nextval('s')) END FROM t ORDER BY k;
SELECT k, k > 1 AND (SELECT nextval('s')) > 2 FROM t ORDER BY k;
SELECT (SELECT nextval('s')) FROM t WHERE k > 5;
SELECT k, (SELECT nextval('s')) FROM t ORDER BY k LIMIT 2;
SELECT sum((SELECT nextval('s'))) FROM t;
SELECT k FROM t WHERE (SELECT nextval('s')) = k ORDER BY k;
SELECT k, (SELECT nextval('s') + t.k * 0) FROM t ORDER BY k;
SELECT nextval('s');
CREATE TABLE drawn (k integer, x bigint);
CREATE TABLE p (k integer);
INSERT INTO drawn SELECT 1, (SELECT nextval('s')) FROM p LIMIT 2;
SELECT nextval('s');
INSERT INTO p VALUES (1), (1), (2);
INSERT INTO drawn SELECT k, (SELECT nextval('s')) FROM p LIMIT 2;
SELECT * FROM drawn ORDER BY k, x;
SELECT nextval('s');
-- for each row around, equal or not
SELECT p.k, count(DISTINCT z.c) FROM p CROSS JOIN LATERAL (SELECT nextval('s') + 0 * p.k AS c) z GROUP BY p.k ORDER BY 1;
SELECT count(z.c), count(DISTINCT z.c) FROM p LEFT JOIN LATERAL (SELECT nextval('s') AS c, p.k) z ON true;
SELECT count(DISTINCT z.c) FROM p, LATERAL (SELECT nextval('s') AS c FROM t WHERE t.k = p.k) z;
SELECT count(DISTINCT (SELECT nextval('s') + 0 * p.k)) FROM p;
SELECT nextval('s');
