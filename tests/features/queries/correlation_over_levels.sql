-- Correlated subqueries inside of correlated subqueries, which read columns one, two or three levels up.
CREATE TABLE p (k int PRIMARY KEY, x int, y int NOT NULL);
CREATE TABLE q (k int PRIMARY KEY, x int, y int);
CREATE TABLE r (k int, x int, y int);
INSERT INTO p VALUES (1,1,3),(2,NULL,1),(3,2,2),(4,2,5),(5,7,1);
INSERT INTO q VALUES (10,1,1),(20,NULL,2),(3,2,NULL),(4,2,5),(5,1,5),(1,NULL,NULL);
INSERT INTO r VALUES (1,1,1),(1,NULL,2),(2,2,2),(NULL,2,3),(3,NULL,NULL),(2,2,2),(4,5,1);
SELECT p.k, (SELECT count(*) FROM q WHERE q.x = p.x AND q.k > (SELECT avg(r.k) FROM r WHERE r.k < q.k)) FROM p ORDER BY 1;
SELECT p.k, (SELECT count(*) FROM q WHERE q.k > (SELECT avg(r.k) FROM r WHERE r.k < p.k)) FROM p ORDER BY 1;
SELECT p.k, (SELECT sum(q.k) FROM q WHERE EXISTS (SELECT 1 FROM r WHERE r.x = q.x AND r.k <= (SELECT min(a.k) FROM q a WHERE a.x = p.x AND a.y >= r.y))) FROM p ORDER BY 1;
SELECT p.x, count(*), (SELECT count(*) FROM (SELECT DISTINCT q.k FROM q WHERE q.x = p.x) g) FROM p GROUP BY p.x ORDER BY 1;
SELECT p.x, (SELECT count(*) FROM (SELECT g.k FROM (SELECT q.k FROM q WHERE q.x = p.x) g) h) FROM p GROUP BY p.x HAVING count(*) > (SELECT count(*) FROM (SELECT q.k FROM q WHERE q.k = p.x) g) ORDER BY 1;
SELECT p.k, l.n, l.k FROM p CROSS JOIN LATERAL (SELECT row_number() OVER (ORDER BY q.k) n, q.k FROM q WHERE q.x = p.x LIMIT 1) l ORDER BY 1;
SELECT p.k, l.n, m.s FROM p CROSS JOIN LATERAL (SELECT q.k n FROM q WHERE q.x = p.x OFFSET 0) l LEFT JOIN LATERAL (SELECT sum(r.k) s FROM r WHERE r.k <= l.n AND r.x = p.x) m ON m.s > 1 ORDER BY 1, 2;
SELECT p.k, (SELECT count(*) FROM (SELECT max(q.k) FROM q WHERE q.x = p.x GROUP BY ROLLUP (q.y)) g) FROM p ORDER BY 1;
SELECT p.k, (SELECT string_agg(g.n::text, ',') FROM (SELECT count(*) n FROM q WHERE q.x = p.x GROUP BY GROUPING SETS ((), ())) g) FROM p ORDER BY 1;
SELECT p.k, (SELECT count(*) FROM q WHERE q.x = p.x GROUP BY ()) FROM p ORDER BY 1;
SELECT p.k, (WITH w AS (SELECT q.k FROM q WHERE q.x = p.x) SELECT count(*) FROM w a JOIN w b ON a.k <= b.k) FROM p ORDER BY 1;
-- a domain copy whose shared plan reads a column of the row around
SELECT p.k FROM p WHERE p.x NOT IN (WITH w AS (SELECT t.c FROM (SELECT p.y AS c, p.k AS d FROM q LIMIT 2) t WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k < t.d AND r.x = t.c)) SELECT a.c FROM w a JOIN w b ON a.c = b.c) ORDER BY 1;
SELECT (SELECT t.c FROM (SELECT q.k AS c, p.y AS d FROM q WHERE q.x = p.x) t WHERE t.c IN (SELECT row_number() OVER () + 3 FROM r WHERE r.k <= t.d) ORDER BY 1 LIMIT 1) FROM p ORDER BY p.k;
-- unread subqueries do not run
SELECT a.k FROM (SELECT p.k, (SELECT q.k FROM q) AS several FROM p) a ORDER BY 1;
-- functions and lists that are made for each row
CREATE FUNCTION two_from(a int) RETURNS SETOF int LANGUAGE plpgsql AS 'BEGIN RETURN NEXT a; RETURN NEXT a + 1; END';
SELECT p.k, g FROM p LEFT JOIN LATERAL two_from(p.x) g ON true ORDER BY 1, 2;
SELECT p.k, g FROM p LEFT JOIN LATERAL two_from(p.k) g ON g > 2 ORDER BY 1, 2;
SELECT p.k, v.m FROM p, LATERAL (VALUES (p.k + 1), ((SELECT max(q.k) FROM q WHERE q.x = p.x))) v(m) ORDER BY 1, 2;
-- joins in LATERAL's reach that run once for each row
SELECT p.k, q.k, l.y FROM p LEFT JOIN (q JOIN LATERAL (SELECT r.y FROM r WHERE r.x = p.x ORDER BY r.y LIMIT 1) l ON l.y > q.k - 5) ON q.x = p.x AND l.y <= p.k ORDER BY 1, 2, 3;
SELECT p.k, q.k, f.v FROM p LEFT JOIN (q CROSS JOIN LATERAL two_from(p.k) f(v)) ON q.x = p.x ORDER BY 1, 2, 3;
SELECT p.k, count(l.y), max(q.y) FROM p LEFT JOIN (q JOIN LATERAL (SELECT r.y FROM r WHERE r.x = p.x ORDER BY r.y LIMIT 1) l ON true LEFT JOIN r z ON z.k = q.k) ON q.x = p.x WHERE coalesce(q.k, 4) > 3 GROUP BY p.k ORDER BY 1, 2, 3;
SELECT p.k, (SELECT sum(l.y + q.k + p.k) FROM q LEFT JOIN (r JOIN LATERAL (SELECT r.y + a.k AS y FROM q a WHERE a.x = p.x AND a.k = q.k OFFSET 0) l ON true) ON r.k = l.y) FROM p ORDER BY 1;
CREATE TABLE dm (f integer);
INSERT INTO dm VALUES (0), (5), (NULL), (5);
SELECT f, (SELECT DISTINCT min(i.f) FROM dm i WHERE i.f = o.f) AS m FROM dm o ORDER BY 1;
SELECT f, (SELECT DISTINCT count(*) FROM dm i WHERE i.f = o.f) AS n, (SELECT DISTINCT o.f + count(*) FROM dm i WHERE i.f > o.f) AS m FROM dm o ORDER BY 1;
