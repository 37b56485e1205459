-- open: 53200: a subquery with a recursive one in it runs for each outer row, and its memory stays until the end
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer NOT NULL, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW v AS SELECT k + 1 AS k, x, n, s, b FROM r WHERE b IS NOT FALSE;
INSERT INTO q VALUES (NULL, 2, 0.00, 'b', true), (1, 3, -2.25, 'ab', NULL), (1, 2, 0.00, '', false), (0, 2, 1.50, 'b', false), (NULL, 1, 0.00, 'B', false), (2, 1, -2.25, 'B', NULL), (4, 3, -2.25, NULL, true);
INSERT INTO r VALUES (0, 2, 0.00, NULL, NULL), (1, 1, 10.10, '', NULL);
INSERT INTO q (k, x, n, s, b) SELECT (c0)::integer, (c1)::integer, c2, c3, c4 FROM (SELECT 1 AS c0, 1 AS c1, 1.5 AS c2, 'a'::text AS c3, true AS c4 FROM (SELECT t2.k AS c0 FROM q t2 GROUP BY (NOT t2.b), t2.k, t2.k) t1) z ORDER BY 1, 2, 3, 4, 5 LIMIT 4;
SELECT min(CASE WHEN t1.s IS NULL THEN 1.5 END) AS c0 FROM e t1 FULL JOIN q t2 USING (k) WHERE (1 >= ANY (WITH RECURSIVE w3(c0, c1) AS (SELECT 0, c0::integer FROM (SELECT 1 AS c0 FROM q t5) t8 UNION SELECT t4.c0 + 1, (1)::integer FROM w3 t4 LEFT JOIN (SELECT every(CASE WHEN t11.st11 IS NOT NULL THEN true END) AS c0, 1 AS c1 FROM (SELECT k, x AS xt10, s AS st10 FROM v) t10 NATURAL JOIN (SELECT k, x AS xt11, s AS st11 FROM r) t11) t9 ON t4.c1 = t9.c1 WHERE t4.c0 < 3) SELECT 1 AS c0 FROM w3 t15, w3 t16 GROUP BY CUBE (t15.c1) HAVING (sum(CASE WHEN t16.c0 IS NULL THEN 1 ELSE t2.x END) = (SELECT t15.c1 AS c0 FROM r t19 WHERE (1 = t19.k)))));
