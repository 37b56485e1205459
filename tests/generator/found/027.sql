-- symptom: with h3 merged (1de1d68): 53200 out of memory for a few rows: UNION of correlated groups in ALL, in an aggregate's argument
CREATE TABLE p (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer, x integer, n numeric(8,2), s text, b boolean);
INSERT INTO p VALUES (1, 0, -2.25, 'b', NULL), (2, 3, NULL, 'a', false), (3, 4, 1.50, 'B', true), (4, NULL, -2.25, 'a', NULL), (5, 3, 0.00, 'a', true);
INSERT INTO q VALUES (1, 2, 10.10, NULL, true), (1, 2, NULL, 'a', true), (4, 4, 3.00, '', false), (3, 0, -2.25, 'a', false), (2, NULL, 3.00, NULL, NULL);
INSERT INTO r VALUES (0, 0, -2.25, 'B', false), (1, NULL, NULL, 'b', false), (2, 3, 10.10, '', false), (3, 3, 0.00, 'a', NULL), (4, NULL, 0.00, 'a', false), (5, 1, -2.25, 'B', true);
SELECT min(CASE WHEN t2.s IS NOT NULL THEN (SELECT max(t4.n) AS c0 FROM r t3 JOIN r t4 ON true WHERE (1 = ALL (((SELECT sum(t5.k) AS c0 FROM q t5 JOIN q t6 ON true WHERE (t3.b OR true) GROUP BY t5.x, t5.k, (NOT t6.b)) UNION (SELECT sum(CASE WHEN t7.n IS NULL THEN 1 ELSE t3.k END) AS c0 FROM r t7 GROUP BY (t7.x % 2), t7.x HAVING (t4.n IS NOT DISTINCT FROM 1.5))) UNION ALL (SELECT 1 AS c0 FROM q t8 WHERE (t4.x = 1)))) GROUP BY GROUPING SETS (((t3.n IS NULL)), ((t3.n IS NULL)))) END) AS c0 FROM q t1, p t2 GROUP BY CUBE (t2.n);
