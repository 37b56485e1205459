-- symptom: FULL JOIN USING (k) then JOIN USING (k) loses rows: merged column
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer UNIQUE, x integer, n numeric(8,2), s text, b boolean);
INSERT INTO p VALUES (1, 3, 0.00, 'ab', NULL), (4, NULL, 1.50, 'a', false);
INSERT INTO q VALUES (0, 3, 1.50, 'a', false), (4, 2, -2.25, 'b', false);
SELECT true AS c0 FROM r t1 FULL JOIN q t2 USING (k) JOIN p t3 USING (k);
