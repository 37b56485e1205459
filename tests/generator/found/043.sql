-- symptom: a UNION in WITH RECURSIVE that does not name itself was held to the types of its first side (42804)
CREATE TABLE p (k integer PRIMARY KEY, n numeric(8,2));
INSERT INTO p VALUES (1, 2.5), (2, NULL);
WITH RECURSIVE w AS (SELECT 1.50::numeric(20,2) AS c FROM p UNION SELECT 1.5 FROM p) SELECT c FROM w;
WITH RECURSIVE w AS (SELECT 'a'::varchar(3) AS c UNION SELECT 'abcdef'::text ORDER BY 1) SELECT c FROM w ORDER BY c;
WITH RECURSIVE w AS (SELECT n FROM p UNION ALL SELECT 1.5), v (c, i) AS (SELECT n, 1 FROM w UNION ALL SELECT c + 1, i + 1 FROM v WHERE i < 2) SELECT c, i FROM v ORDER BY c NULLS FIRST, i;
