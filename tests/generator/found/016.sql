-- symptom: INSERT ... RETURNING (SELECT count(*)): sees the new rows, beside nextval()
CREATE TABLE p (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE SEQUENCE sq;
INSERT INTO p VALUES (1, 4, 3.00, 'a', NULL);
INSERT INTO e (k) SELECT k FROM p RETURNING nextval('sq') IS NULL, (SELECT count(*) FROM e);
