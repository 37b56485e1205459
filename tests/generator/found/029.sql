-- symptom: with h3 and h4 merged: (SELECT nextval()) below LIMIT in INSERT ... SELECT draws a number over no rows
CREATE TABLE p (k integer);
CREATE TABLE e (k integer, x integer);
CREATE SEQUENCE sq;
INSERT INTO e (k, x) SELECT 1, (SELECT nextval('sq')) FROM p LIMIT 2;
SELECT nextval('sq');
