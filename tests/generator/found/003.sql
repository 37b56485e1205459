-- symptom: crash (expression.cc:177): scalar subquery without FROM as argument of an aggregate of a correlated subquery
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer NOT NULL, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW a38 AS SELECT (SELECT min((SELECT t7.s AS c0)) AS c0 FROM q t5 JOIN r t7 USING (k) WHERE (1 IS NOT DISTINCT FROM t2.k)) AS c0 FROM r t1 JOIN r t2 ON true;
SELECT * FROM a38;
