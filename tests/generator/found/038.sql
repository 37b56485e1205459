-- symptom: a correlated recursion kept the names of an attempt that was given up
CREATE TABLE r (k integer NOT NULL, x integer, n numeric(8,2), s text, b boolean);
INSERT INTO r VALUES (1, 1, 1.50, 'a', true), (2, NULL, NULL, 'b', false), (3, 1, 0.00, NULL, true);
SELECT 'a'::text AS c0 FROM r t1 RIGHT JOIN r t2 ON true WHERE NOT EXISTS (SELECT 1 AS c0 FROM (SELECT 1.5 AS c0, 1 AS c2 FROM r t4) t3 WHERE (1 NOT IN (WITH RECURSIVE w6(c0, c1) AS (SELECT 0, c0::integer FROM (SELECT 1 AS c0 FROM r t8 GROUP BY t8.x, t8.s, t8.b) t9 UNION SELECT t7.c0 + 1, (1)::integer FROM w6 t7 WHERE t7.c0 < 3 AND (1 = t3.c2)) SELECT generate_series(1, 2) AS c0 FROM w6 t10 LEFT JOIN w6 t11 ON true WHERE t2.b))) GROUP BY (t1.x % 3);
SELECT t2.k FROM r t2 WHERE NOT EXISTS (SELECT 1 AS c0 FROM (SELECT x AS c2 FROM r t4) t3 WHERE (1 NOT IN (WITH RECURSIVE w6(c0) AS (SELECT 0 UNION SELECT t7.c0 + 1 FROM w6 t7 WHERE t7.c0 < 3 AND (1 = t3.c2)) SELECT w6.c0 FROM w6 WHERE t2.b))) ORDER BY 1;
