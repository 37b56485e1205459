-- Computed columns on the missing side of an outer join, and in parts of WITH that are read twice.
CREATE TABLE p (k int PRIMARY KEY, x int, y int NOT NULL);
CREATE TABLE q (k int PRIMARY KEY, x int, y int);
CREATE TABLE r (k int, x int, y int);
INSERT INTO p VALUES (1,1,3),(2,NULL,1),(3,2,2),(4,2,5),(5,7,1);
INSERT INTO q VALUES (10,1,1),(20,NULL,2),(3,2,NULL),(4,2,5),(5,1,5),(1,NULL,NULL);
INSERT INTO r VALUES (1,1,1),(1,NULL,2),(2,2,2),(NULL,2,3),(3,NULL,NULL),(2,2,2),(4,5,1);
SELECT p.k, w.v, w.v IS NULL AS n FROM p LEFT JOIN (SELECT b.v FROM (SELECT q.k * 2 v FROM q) b JOIN r ON b.v = r.x) w ON p.x = w.v ORDER BY 1, 2;
SELECT a.k, c.v, c.z FROM p a LEFT JOIN (SELECT b.k + 1 AS v, b.y AS z FROM (SELECT k, coalesce(y, 5) AS y FROM q) b JOIN r ON r.k = b.y) c ON c.v = a.k ORDER BY 1, 2;
SELECT a.k, (SELECT v.c FROM q LEFT JOIN (SELECT a.x AS c, r.k FROM r) v ON v.k = q.x AND q.k = 99 ORDER BY q.k LIMIT 1) FROM p a ORDER BY 1;
WITH w AS (SELECT a.v FROM (SELECT q.k * 2 v FROM q) a JOIN r ON a.v = r.x * 4) SELECT count(*), (SELECT max(v) FROM w) FROM w;
WITH w AS (SELECT a.v + 1 AS v FROM (SELECT q.k * 2 v FROM q) a JOIN r ON a.v > r.x) SELECT a.v, count(*) FROM w a JOIN w b ON a.v = b.v GROUP BY a.v ORDER BY 1;
SELECT coalesce(t.y, 5 + t.x) AS c, sum(t.x) FROM p t GROUP BY GROUPING SETS ((t.y, t.x), (t.x), ()) ORDER BY 1, 2;
SELECT coalesce(t.y, t.k) IS NULL AS n, count(*) FROM p t GROUP BY ROLLUP (t.y, t.k) ORDER BY 1, 2;
-- HAVING and empty grouping sets without aggregates
SELECT 7 FROM q WHERE false HAVING true;
SELECT 7 FROM q HAVING false;
SELECT (SELECT 7 FROM q WHERE k = 1 HAVING true), EXISTS (SELECT 7 FROM q WHERE false HAVING true), EXISTS (SELECT 7 FROM q WHERE false HAVING count(*) > 0);
SELECT k, (SELECT p.x FROM q WHERE q.x = p.x HAVING true) FROM p ORDER BY 1;
SELECT 1 FROM q WHERE false GROUP BY ();
SELECT 1 FROM q WHERE false GROUP BY GROUPING SETS ((), ());
-- whole rows, field by field
SELECT row(t.*) IS DISTINCT FROM row(u.*) FROM p t, p u WHERE t.k = 1 AND u.k IN (1, 2) ORDER BY 1;
SELECT row(t.*) IS NOT DISTINCT FROM row(u.*), row(t.*) = row(u.*), row(t.*) < row(u.*), row(t.*) IS NULL FROM p t, p u WHERE t.k < 3 AND u.k < 3 ORDER BY t.k, u.k;
SELECT row(t.*) IN (SELECT u.k, u.x, u.y FROM p u) FROM p t ORDER BY t.k;
-- rows of the last rank: NULL is no number of rows
SELECT k FROM p ORDER BY x FETCH FIRST NULL ROWS WITH TIES;
CREATE VIEW v AS SELECT k FROM p ORDER BY x FETCH FIRST NULL ROWS WITH TIES;
CREATE VIEW v AS SELECT k FROM p ORDER BY x FETCH FIRST (NULL::int) ROWS WITH TIES;
SELECT k FROM v ORDER BY 1;
