-- symptom: with h3 and h4 merged: LATERAL with nextval() is computed once for equal outer values, not for each outer row
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE SEQUENCE sq;
INSERT INTO q VALUES (3, 1, -2.25, 'ab', false), (3, NULL, 1.50, '', false);
SELECT sum(z.c) FROM q LEFT JOIN LATERAL (SELECT nextval('sq') AS c, q.k) z ON true;
