-- symptom: nextval() in a derived table's column that nobody reads is not computed (PostgreSQL does: volatile keeps the derived table)
CREATE TABLE r (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE SEQUENCE sq;
INSERT INTO r VALUES (0, 1, -2.25, 'a', true);
SELECT z.k FROM (SELECT k, nextval('sq') AS c FROM r) z;
SELECT nextval('sq');
