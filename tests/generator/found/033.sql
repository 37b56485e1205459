-- symptom: signal 11: bool_and() of a comparison that may be NULL, of a derived table of a join, GROUP BY ()
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
SELECT 1 AS c0, bool_and(t10.c1) AS c1 FROM (SELECT 1 AS c0 FROM e t8) t7 JOIN LATERAL (SELECT t11.b AS c0, (t13.n = 1.5) AS c1 FROM e t11, q t13) t10 ON true GROUP BY ();
