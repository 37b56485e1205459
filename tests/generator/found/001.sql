-- symptom: crash (expression.cc:177 sources_.end()): scalar subquery with a correlated subquery inside, as argument of an aggregate
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer NOT NULL, x integer, n numeric(8,2), s text, b boolean);
SELECT 1 AS c0, count((SELECT 1 AS c0 FROM p t11 WHERE ((1 = (SELECT sum(1) AS c0 FROM r t12 WHERE (t11.x <> 1))) AND (1 = t3.x)))) AS c2 FROM (SELECT 1.5 AS c0 FROM r t2) t1 LEFT JOIN r t3 ON true GROUP BY ();
