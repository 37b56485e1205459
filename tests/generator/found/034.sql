-- symptom: GROUP BY (k % 2), k loses rows (as case 107)
CREATE TABLE p (k integer PRIMARY KEY, x integer);
CREATE TABLE q (k integer, x integer);
INSERT INTO p VALUES (1, 3), (2, 2), (3, 0), (4, 0);
INSERT INTO q VALUES (NULL, 0), (2, 3), (0, 1);
ANALYZE;
SELECT t1.k AS c0 FROM q t1, p t3 GROUP BY (t1.k % 2), t1.k;
