-- symptom: nextval() + NULL: nextval() is not computed where the other operand is NULL
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE SEQUENCE sq;
INSERT INTO q VALUES (1, 3, -2.25, 'B', true), (NULL, 1, NULL, NULL, NULL), (NULL, 1, NULL, 'ab', true);
SELECT count(DISTINCT z.c) FROM q CROSS JOIN LATERAL (SELECT nextval('sq') + 0 * q.k AS c) z;
SELECT nextval('sq');
