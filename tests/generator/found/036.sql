-- symptom: EXISTS computed what it selects: numbers were drawn
CREATE TABLE r (k integer);
CREATE SEQUENCE sq;
INSERT INTO r VALUES (0), (1), (NULL);
SELECT EXISTS (SELECT nextval('sq') FROM r);
SELECT nextval('sq');
SELECT k FROM r WHERE k > 5 OR EXISTS (SELECT nextval('sq') FROM r x WHERE x.k = r.k) ORDER BY 1;
SELECT k FROM r WHERE EXISTS (SELECT DISTINCT nextval('sq'), k FROM r x WHERE x.k = r.k ORDER BY 1 LIMIT 3) ORDER BY 1;
SELECT k FROM r WHERE EXISTS (SELECT 1 / x.k FROM r x GROUP BY x.k) ORDER BY 1;
SELECT k FROM r WHERE EXISTS (SELECT count(*) FROM r x WHERE x.k > 5) AND NOT EXISTS (SELECT k FROM r LIMIT 0) ORDER BY 1;
SELECT nextval('sq');
