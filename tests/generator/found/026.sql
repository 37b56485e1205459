-- symptom: with h3 merged (1de1d68): signal 11 in WITH RECURSIVE whose first term groups a lateral join by expressions
-- open: see shapes.cc
CREATE TABLE p (k integer, x integer, n numeric(8,2), s text, b boolean);
WITH RECURSIVE w1 AS (SELECT true AS c0 FROM (SELECT DISTINCT 1.5 AS c0, t3.s AS c1 FROM p t3) t2 GROUP BY ROLLUP (t2.c1)), w5(c0, c1) AS (SELECT 0, c0::integer FROM (SELECT (t8.c0 % 2) AS c0 FROM w1 t7 JOIN LATERAL (SELECT 1 AS c0, t7.c0 AS c1) t8 ON t7.c0 = t8.c1 GROUP BY (t8.c0 % 2), t7.c0, (NOT t8.c1)) t12 UNION SELECT t6.c0 + 1, (1)::integer FROM w5 t6 WHERE t6.c0 < 3) SELECT true AS c0, 1 AS c1 FROM w5 t14 ORDER BY 1 DESC NULLS LAST, 2;
