-- symptom: XX000: relation 2 is defined twice: a filter that was pushed below DISTINCT named its key, a subquery, twice
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer UNIQUE, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
INSERT INTO e VALUES (1, 1, 1.50, 'a', true), (2, NULL, NULL, 'b', false);
INSERT INTO r VALUES (1, 1, 1.50, 'a', true), (2, NULL, NULL, 'b', false);
SELECT DISTINCT ON (t1.c0) 1 AS c0, 1 AS c1 FROM (SELECT DISTINCT (SELECT c0 FROM (SELECT max(CASE WHEN t3.k IS NOT NULL THEN 1 ELSE t2.k END) AS c0 FROM r t3 GROUP BY t3.s) t5 ORDER BY 1 NULLS FIRST LIMIT 1) AS c0 FROM e t2) t1 WHERE (CASE WHEN true THEN 0 ELSE (SELECT min(CASE WHEN t6.n IS NULL THEN 1 END) AS c0 FROM q t6 WHERE (t1.c0 IS NOT DISTINCT FROM t1.c0)) END IS NULL) ORDER BY t1.c0, 1, 2;
SELECT t1.c0 FROM (SELECT (SELECT t3.x FROM r t3 WHERE t3.k = t2.k LIMIT 1) AS c0 FROM e t2 UNION SELECT 7) t1 WHERE (SELECT count(*) FROM q WHERE t1.c0 = t1.c0) = 0 ORDER BY 1;
SELECT ((SELECT max(k) FROM r), 1) < (2, 3), ((SELECT max(k) FROM r), 1) >= (SELECT 2, 1), (SELECT max(k) FROM r) BETWEEN SYMMETRIC 3 AND 1;
