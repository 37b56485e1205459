-- symptom: crash (expression.cc:177): ROLLUP with an expression of a group key in a correlated subquery
CREATE TABLE r (k integer NOT NULL, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
SELECT (SELECT sum(1) AS c0 FROM e t2 WHERE (t1.n = 1.5) GROUP BY t2.k, ROLLUP (t2.k, t2.x, (t2.x % 2))) AS c0 FROM r t1;
