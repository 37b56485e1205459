-- symptom: signal 11: GROUP BY an IS NULL of the RIGHT JOIN's missing side, over a part of WITH used twice
CREATE TABLE r (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW v AS SELECT k + 1 AS k, x, n, s, b FROM r WHERE b IS NOT FALSE;
WITH w5 AS MATERIALIZED (SELECT t6.c1 AS c0, (SELECT max(CASE WHEN t9.s IS NULL THEN 1.5 END) AS c0 FROM r t9) AS c2 FROM (SELECT t7.n AS c0, (t7.k = 1) AS c1 FROM v t7 WHERE true) t6, LATERAL (VALUES (2)) t8(c0)) SELECT count(*) AS c0 FROM w5 t12 RIGHT JOIN w5 t13 ON true GROUP BY t13.c0, (t12.c2 IS NULL);
