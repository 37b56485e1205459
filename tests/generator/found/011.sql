-- symptom: crash (expression.cc:177): correlated generate_series() in an aggregate's FROM, over a RIGHT JOIN's table
CREATE TABLE p (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer, x integer, n numeric(8,2), s text, b boolean);
MERGE INTO p USING (SELECT (c0)::integer AS k, max(c1) AS s FROM (SELECT DISTINCT 1 AS c0, 'a'::text AS c1 FROM (SELECT (SELECT min(1) AS c0 FROM q t5 JOIN generate_series(1, least(3, t4.k)::integer) t6(c0) ON true GROUP BY ()) AS c0 FROM (SELECT true AS c0 FROM r t3 GROUP BY () HAVING true) t2 RIGHT JOIN r t4 ON true) t1) z WHERE c0 IS NOT NULL GROUP BY 1) u ON p.k = u.k WHEN NOT MATCHED THEN INSERT (k, s) VALUES (u.k, (SELECT count(*) FROM p)::text);
