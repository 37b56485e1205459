-- symptom: crash (expression.cc:177): aggregate over LATERAL VALUES and LATERAL grouped, both of an outer column
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW v AS SELECT k, max(x) AS x, min(n) AS n, max(s) AS s, bool_or(b) AS b FROM q GROUP BY k;
SELECT (SELECT bool_or(true) AS c0 FROM LATERAL (VALUES (t3.c0, 1)) t5(c0, c1), LATERAL (SELECT t5.c0 AS c0 FROM q t7 GROUP BY t7.n, t7.x) t6) AS c0 FROM (SELECT ''::text AS c0 FROM v t4) t3 ORDER BY 1;
