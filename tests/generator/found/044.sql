-- symptom: XX000, a row may have two partners: the checker did not see that a key is one value for all rows
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text);
CREATE TABLE r (k integer, x integer, n numeric(8,2), s text);
INSERT INTO p VALUES (1, 1, 1.5, 'a'), (2, 1, 1.5, NULL), (3, 2, 2, 'b'), (4, NULL, NULL, 'c');
INSERT INTO r VALUES (1, 1, 1.5, NULL), (2, 2, 2, 'x'), (3, 2, NULL, 'y');
SELECT (SELECT 1 FROM p t3 WHERE 1.5 = ANY (ARRAY(SELECT (SELECT max(CASE WHEN t7.s IS NULL THEN 1.5 ELSE CASE WHEN t5.k IS DISTINCT FROM 1 THEN t3.n ELSE 1.5 END END) FROM r t7) FROM p t5 WHERE t2.n = t3.n)) LIMIT 1) FROM r t2 ORDER BY 1;
SELECT (SELECT 1 FROM p t3 WHERE 1.5 = ANY (ARRAY(SELECT (SELECT max(CASE WHEN t7.s IS NULL THEN 1.5 ELSE CASE WHEN t5.k IS DISTINCT FROM 1 THEN t3.n ELSE 1.5 END END) FROM r t7) FROM p t4 FULL JOIN p t5 USING (k) WHERE t2.n = t3.n)) LIMIT 1 OFFSET 1) FROM r t1 LEFT JOIN r t2 ON true ORDER BY 1;
SELECT (SELECT count(*) FROM p t3 WHERE t3.n = ANY (ARRAY(SELECT (SELECT max(t3.n + t5.k) FROM r t7 WHERE t7.k = t5.k) FROM p t5 WHERE t2.n = t3.n)) LIMIT 1) FROM r t2 ORDER BY 1;
