CREATE TABLE a (x integer PRIMARY KEY, y text, k smallint);
INSERT INTO a VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', NULL), (4, NULL, 40), (5, 'five', 20);
CREATE TABLE b (x integer, z numeric(6,2), k integer);
INSERT INTO b VALUES (1, 1.5, 10), (1, 2.5, 20), (2, NULL, 20), (6, 6.25, NULL), (NULL, 9.75, 40);
CREATE TABLE c (k integer PRIMARY KEY, name varchar(10) NOT NULL);
INSERT INTO c VALUES (10, 'ten'), (20, 'twenty'), (30, 'thirty');
-- Outer joins
SELECT * FROM a FULL JOIN b ON a.x = b.x ORDER BY a.x, b.x, b.z;
SELECT * FROM a FULL JOIN b USING (x) ORDER BY x, z;
SELECT x, count(*) FROM a FULL JOIN b USING (x) GROUP BY x ORDER BY x;
SELECT a.x, b.z FROM a RIGHT JOIN b ON a.x = b.x ORDER BY b.z;
SELECT * FROM a LEFT JOIN (b JOIN c ON b.k = c.k) ON a.x = b.x ORDER BY a.x, b.z;
SELECT a.x, b.x, c.name FROM a LEFT JOIN (b LEFT JOIN c ON b.k = c.k) ON a.x = b.x ORDER BY a.x, b.z;
SELECT a.x, b.z, c.name FROM a FULL JOIN b ON a.x = b.x FULL JOIN c ON c.k = a.k ORDER BY a.x, b.z, c.name;
SELECT a.x, b.z FROM a FULL JOIN b ON a.x = b.x WHERE a.x > 1 ORDER BY a.x, b.z;
SELECT a.x, b.z FROM a FULL JOIN b ON a.x = b.x WHERE b.z > 1 ORDER BY a.x, b.z;
SELECT a.x, b.z FROM a FULL JOIN b ON a.x = b.x WHERE a.x IS NULL OR b.x IS NULL ORDER BY a.x, b.z;
SELECT count(*) FROM a FULL JOIN b ON false;
SELECT a.x, c.name FROM c RIGHT JOIN a ON a.k = c.k LEFT JOIN b ON b.x = a.x AND b.z > 2 ORDER BY a.x, b.z;
SELECT a.x, s.n FROM a LEFT JOIN LATERAL (SELECT count(*) AS n FROM b WHERE b.x = a.x) s ON true ORDER BY a.x;
SELECT a.x, s.z FROM a, LATERAL (SELECT z FROM b WHERE b.x <= a.x ORDER BY z DESC LIMIT 1) s ORDER BY a.x;
SELECT a.x, s.z FROM a LEFT JOIN LATERAL (SELECT z FROM b WHERE b.x = a.x ORDER BY z DESC LIMIT 1) s ON s.z > 2 ORDER BY a.x;
-- Subqueries
SELECT x, (SELECT count(*) FROM b WHERE b.k > a.k) FROM a ORDER BY x;
SELECT x, (SELECT sum(z) FROM b WHERE b.x = a.x AND b.k > (SELECT min(k) FROM c WHERE c.k >= a.k)) FROM a ORDER BY x;
SELECT x FROM a WHERE k = (SELECT max(c.k) FROM c WHERE c.k <= a.k AND EXISTS (SELECT 1 FROM b WHERE b.k = c.k AND b.x < a.x)) ORDER BY x;
SELECT x FROM a WHERE k NOT IN (SELECT k FROM b WHERE b.x = a.x) ORDER BY x;
SELECT x, k IN (SELECT k FROM b WHERE b.x <> a.x) FROM a ORDER BY x;
SELECT x, (SELECT z FROM b WHERE b.x = a.x) FROM a WHERE x > 1 ORDER BY x;
SELECT x, (SELECT z FROM b WHERE b.x = a.x) FROM a ORDER BY x;
SELECT x, CASE WHEN x > 1 THEN (SELECT z FROM b WHERE b.x = a.x) END FROM a ORDER BY x;
-- Queries of WITH
WITH t AS (SELECT k, count(*) AS n FROM b GROUP BY k) SELECT t1.k, t1.n, t2.n FROM t t1 JOIN t t2 ON t1.k = t2.k ORDER BY 1;
WITH t (p, q) AS (SELECT x, y FROM a), u AS (SELECT p FROM t WHERE p > 2) SELECT (SELECT count(*) FROM t), p FROM u ORDER BY p;
WITH t AS MATERIALIZED (SELECT x FROM a) SELECT x FROM t WHERE x > 3 ORDER BY x;
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT count(*), sum(n) FROM r;
WITH RECURSIVE r(n, t) AS (VALUES (1, 'a') UNION SELECT n % 3 + 1, t FROM r) SELECT * FROM r ORDER BY n;
WITH RECURSIVE r AS (SELECT x, k FROM a WHERE x = 1 UNION ALL SELECT a.x, a.k FROM r JOIN a ON a.x = r.x + 1) SELECT * FROM r ORDER BY x;
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 0.5 FROM r WHERE n < 3) SELECT * FROM r;
WITH RECURSIVE plain AS (SELECT x FROM a UNION SELECT x FROM b) SELECT count(*) FROM plain;
-- DISTINCT ON
SELECT DISTINCT ON (k) k, x FROM a ORDER BY k, x DESC;
SELECT DISTINCT ON (x) x, z FROM b ORDER BY x, z NULLS FIRST LIMIT 2;
SELECT DISTINCT ON (k) k FROM a;
SELECT DISTINCT ON (k) k, x FROM a ORDER BY x;
-- Grouping sets
SELECT k, y, count(*) FROM a GROUP BY ROLLUP (k, y) ORDER BY k, y, 3;
SELECT k, x, sum(z) FROM b GROUP BY CUBE (k, x) ORDER BY k, x, 3;
SELECT k, x, count(*), grouping(k, x), grouping(x) FROM b GROUP BY GROUPING SETS ((k), (x), ()) ORDER BY 4, k, x;
SELECT k, count(*) FROM a GROUP BY k, GROUPING SETS ((x), ()) ORDER BY k, 2;
SELECT sum(x) FROM a GROUP BY ();
SELECT count(*), sum(z) FROM b WHERE false GROUP BY ROLLUP (k);
SELECT k, count(DISTINCT x) FROM b GROUP BY ROLLUP (k) HAVING count(*) > 1 ORDER BY k;
SELECT y, grouping(k) FROM a GROUP BY y;
-- Aggregates
SELECT k, count(DISTINCT x), sum(DISTINCT x) FROM b GROUP BY k ORDER BY k;
SELECT count(DISTINCT k), count(DISTINCT x), min(z), max(z), avg(z) FROM b;
SELECT min(x) FILTER (WHERE k > 10), max(y), count(k), avg(k), sum(k) FROM a;
SELECT sum(x), avg(x), min(x) FROM a WHERE x > 100;
-- Set operations
SELECT k FROM a INTERSECT ALL SELECT k FROM b ORDER BY 1;
SELECT k FROM a EXCEPT ALL SELECT k FROM b ORDER BY 1;
SELECT x FROM (SELECT x FROM a UNION ALL SELECT x FROM b) s WHERE x > 1 ORDER BY x OFFSET 1 LIMIT 3;
SELECT x, k FROM a UNION SELECT x, k FROM b UNION ALL SELECT 0, 0 ORDER BY 1, 2;
-- Outer joins by several keys that may be NULL
CREATE TABLE twok (a integer, b smallint, c double precision, d text);
CREATE TABLE twol (a integer PRIMARY KEY, b integer, c numeric(6,2), d varchar(4));
INSERT INTO twok VALUES (1, 1, 1.5, 'x'), (NULL, 2, 2.5, 'y'), (3, NULL, NULL, 'z'), (4, 4, 4.5, NULL), (5, 5, 5.5, 'v');
INSERT INTO twol VALUES (1, 1, 1.5, 'x'), (2, 2, 2.5, 'y'), (3, NULL, NULL, 'z'), (4, 4, 4.5, NULL), (6, 5, 5.5, 'v');
SELECT x.a, x.b, y.a FROM twok x LEFT JOIN twol y ON x.c = y.c AND x.d = y.d ORDER BY 1, 2;
SELECT x.a, x.b, y.a FROM twok x LEFT JOIN twol y ON x.b = y.b AND x.c = y.c AND x.d = y.d ORDER BY 1, 2;
SELECT x.a, y.a FROM twok x FULL JOIN twol y ON x.c = y.c AND x.b = y.b ORDER BY 1, 2;
SELECT x.a, y.a FROM twok x RIGHT JOIN twol y ON x.d = y.d AND x.b = y.b ORDER BY 1, 2;
SELECT x.a, (SELECT max(y.a) FROM twol y WHERE y.b = x.b AND y.d = x.d) FROM twok x ORDER BY 1;
SELECT count(DISTINCT x.a) FROM twok x LEFT JOIN (SELECT * FROM twol WHERE a < 1) y ON (x.c, y.d) = (y.c, x.d);
