-- symptom: crash (expression.cc:177): LATERAL with grouped view join, ORDER BY LIMIT, in NOT IN of DELETE
CREATE TABLE p (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW v AS SELECT k, max(x) AS x, min(n) AS n, max(s) AS s, bool_or(b) AS b FROM q GROUP BY k;
DELETE FROM q WHERE (1 NOT IN (SELECT min(1) AS c0 FROM p t3 LEFT JOIN LATERAL (SELECT 1.5 AS c0, 1 AS c1, count(DISTINCT 1.5) AS c2 FROM v t5 LEFT JOIN q t6 ON (t3.s = t3.s) GROUP BY (t5.n IS NULL) ORDER BY 1, 2, 3 LIMIT 2) t4 ON true));
