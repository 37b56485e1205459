-- symptom: crash (expression.cc:177): scalar subquery of a derived table with ORDER BY and LIMIT reads a grouped column of a grouped derived table
CREATE TABLE r (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
SELECT (SELECT c0 FROM (SELECT count(*) AS c0 FROM unnest(ARRAY[1, 1]) t4(c0) WHERE (t2.c0 = 1) ORDER BY 1 DESC) t5 ORDER BY 1 NULLS FIRST LIMIT 1) AS c0 FROM r t1 JOIN (SELECT t3.k AS c0 FROM e t3 GROUP BY t3.k, t3.k) t2 ON true GROUP BY upper(t1.s), t2.c0;
