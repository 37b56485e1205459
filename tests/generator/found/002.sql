-- symptom: crash (expression.cc:177): grouping sets of an outer join in a correlated subquery of NOT IN
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer NOT NULL, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW v AS SELECT p.k, q.x, p.n, q.s, q.b FROM p LEFT JOIN q ON p.x = q.k;
SELECT 1 AS c0 FROM v t1 WHERE (1.5 NOT IN (SELECT min(1.5) AS c0 FROM generate_series(1, least(3, 1)::integer) t3(c0) FULL JOIN r t4 ON (t3.c0 = t4.x AND (t1.s < t1.s)) GROUP BY GROUPING SETS ((t4.b, (t4.k + 1), (t3.c0 + 1), t3.c0), (t4.b), ())));
