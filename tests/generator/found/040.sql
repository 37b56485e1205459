-- symptom: the plan checker: DISTINCT of a key over ordered joins
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW v AS SELECT * FROM q UNION ALL SELECT * FROM e;
INSERT INTO p VALUES (1, 4, 1.50, '', NULL), (4, 1, 10.10, '', NULL);
SELECT DISTINCT ON (t5.k) (SELECT 1.5 AS c0 FROM p t9 WHERE (1 >= t5.k)) AS c0 FROM p t5 JOIN LATERAL (SELECT every(t7.b) AS c0, t5.k AS c2 FROM v t7 WHERE t5.b) t6 ON true WHERE (t5.n IS NULL) ORDER BY t5.k, 1;
