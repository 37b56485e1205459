-- symptom: uncorrelated (SELECT nextval()) below LIMIT draws more numbers
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE SEQUENCE sq;
INSERT INTO p VALUES (1, 2, -2.25, NULL, true), (5, 0, 10.10, 'B', true);
INSERT INTO e (k, x) SELECT nextval('sq'), (SELECT nextval('sq')) FROM p LIMIT 2;
SELECT nextval('sq');
