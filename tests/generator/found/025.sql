-- symptom: crash (expression.cc:177): correlated FILTER over a part of WITH LEFT JOINed
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
SELECT (WITH RECURSIVE w2 AS NOT MATERIALIZED (SELECT t3.s AS c0 FROM p t3), w4(c0, c1) AS (SELECT 0, c0::integer FROM (SELECT 1 AS c0 FROM w2 t6) t7 UNION SELECT t5.c0 + 1, (1)::integer FROM w4 t5 WHERE t5.c0 < 3) SELECT sum(1.5) FILTER (WHERE (t1.n >= t9.n)) AS c0 FROM w2 t8 LEFT JOIN q t9 ON true GROUP BY ()) AS c0 FROM q t1;
