-- symptom: NATURAL FULL JOIN chain of derived tables: merged column is NULL
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer NOT NULL, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
INSERT INTO p VALUES (1, 1, 3.00, 'ab', NULL);
SELECT k AS c0, 1 AS c1, true AS c2 FROM (SELECT k, x AS xt10, s AS st10 FROM e) t10 NATURAL FULL JOIN (SELECT k, x AS xt11, s AS st11 FROM p) t11 NATURAL FULL JOIN (SELECT k, x AS xt12, s AS st12 FROM r) t12 ORDER BY 1, 2 DESC, 3 DESC NULLS LAST;
