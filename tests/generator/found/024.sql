-- symptom: crash (expression.cc:177): correlated WITH RECURSIVE (its first term reads an outer column), joined to a LEFT JOIN
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
SELECT t1.s AS c0 FROM p t1 WHERE (t1.s <> ANY (WITH RECURSIVE w2(c0, c1) AS (SELECT 0, c0::integer FROM (SELECT t1.x AS c0 FROM p t4) t6 UNION SELECT t3.c0 + 1, (1)::integer FROM w2 t3 JOIN q t7 ON t3.c1 = t7.x WHERE t3.c0 < 3) SELECT string_agg((t8.s)::text, ',' ORDER BY (t8.s)::text DESC) AS c0 FROM q t8 LEFT JOIN w2 t9 ON true GROUP BY ()));
