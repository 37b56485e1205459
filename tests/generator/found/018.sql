-- symptom: (SELECT nextval()) is computed for each row
CREATE TABLE r (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE SEQUENCE sq;
INSERT INTO r VALUES (0, 0, NULL, '', false), (4, 0, NULL, 'a', true);
SELECT k, (SELECT nextval('sq')) FROM r;
