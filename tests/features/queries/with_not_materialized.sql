CREATE TABLE nm (id int PRIMARY KEY, x int, y text);
INSERT INTO nm SELECT i, i % 3, 'n' || i FROM generate_series(1, 8) i;

-- joined with itself by a column
WITH c AS NOT MATERIALIZED (SELECT id, x FROM nm WHERE id <= 2) SELECT count(*) FROM c a JOIN c b ON a.id = b.id;
WITH c AS NOT MATERIALIZED (SELECT id, x FROM nm) SELECT count(*) FROM c a JOIN c b ON a.x = b.x;
WITH c AS NOT MATERIALIZED (SELECT id, x FROM nm) SELECT a.id, b.id FROM c a, c b WHERE a.id = b.id + 1 AND a.x = 0 ORDER BY 1;
WITH c (k, v) AS NOT MATERIALIZED (SELECT id, x FROM nm) SELECT a.k, b.v FROM c a LEFT JOIN c b ON a.k = b.v ORDER BY 1, 2;
WITH c AS NOT MATERIALIZED (SELECT x, count(*) AS n FROM nm GROUP BY x) SELECT a.x, a.n, b.n FROM c a JOIN c b ON a.x = b.x ORDER BY 1;
WITH c AS NOT MATERIALIZED (SELECT x, sum(id) AS n FROM nm GROUP BY x) SELECT x FROM c WHERE n = (SELECT max(n) FROM c);
WITH c AS NOT MATERIALIZED (SELECT id, row_number() OVER (PARTITION BY x ORDER BY id) AS r FROM nm) SELECT a.id, b.id FROM c a JOIN c b ON a.r = b.r AND a.id < b.id ORDER BY 1, 2;
WITH c AS NOT MATERIALIZED (SELECT DISTINCT x FROM nm) SELECT x FROM c WHERE x NOT IN (SELECT x + 1 FROM c) ORDER BY 1;
WITH c AS NOT MATERIALIZED (SELECT id FROM nm WHERE x = 1) SELECT id FROM c UNION ALL SELECT -id FROM c ORDER BY 1;
WITH c AS NOT MATERIALIZED (SELECT id, x FROM nm) SELECT a.id FROM c a WHERE EXISTS (SELECT 1 FROM c b WHERE b.id = a.x AND EXISTS (SELECT 1 FROM c d WHERE d.id = b.id + a.id)) ORDER BY 1;
WITH c AS NOT MATERIALIZED (VALUES (1, 'a'), (2, 'b')) SELECT * FROM c a JOIN c b ON a.column1 = b.column1 ORDER BY 1;
WITH c AS NOT MATERIALIZED (SELECT g FROM generate_series(1, 3) g) SELECT count(*) FROM c a, c b, c d WHERE a.g = b.g AND b.g = d.g;

-- nested: each of its own WITH, of earlier ones, shadowed names
WITH c AS NOT MATERIALIZED (WITH d AS (SELECT id, x FROM nm) SELECT * FROM d) SELECT count(*) FROM c a JOIN c b ON a.id = b.id;
WITH d AS (SELECT id, x FROM nm), c AS NOT MATERIALIZED (SELECT * FROM d WHERE x > 0) SELECT count(*) FROM c a JOIN c b ON a.id = b.id;
WITH d AS NOT MATERIALIZED (SELECT id, x FROM nm), c AS NOT MATERIALIZED (SELECT a.id, b.x FROM d a JOIN d b USING (id)) SELECT count(*) FROM c a JOIN c b ON a.id = b.id JOIN d ON d.id = b.id;
WITH d AS (SELECT 1 AS v), c AS NOT MATERIALIZED (SELECT v FROM d) SELECT * FROM c a, (WITH d AS (SELECT 2 AS v) SELECT c.v AS c, d.v AS d FROM c, d) b;
WITH nm AS NOT MATERIALIZED (SELECT id + 100 AS id FROM nm) SELECT count(*), min(a.id) FROM nm a JOIN nm b ON a.id = b.id;
WITH c AS NOT MATERIALIZED (SELECT id FROM nm), r AS (SELECT 1) INSERT INTO nm SELECT a.id + 10, b.id, 'new' FROM c a JOIN c b ON a.id = b.id WHERE a.id < 3 RETURNING *;
WITH c AS NOT MATERIALIZED (SELECT id FROM nm WHERE id > 10) DELETE FROM nm USING c a JOIN c b ON a.id = b.id WHERE nm.id = a.id RETURNING nm.id;
CREATE VIEW nmv AS WITH c AS NOT MATERIALIZED (SELECT id, x FROM nm) SELECT a.id, b.x FROM c a JOIN c b ON a.id = b.id;
SELECT count(*) FROM nmv a JOIN nmv b ON a.x = b.x;

-- what could differ when it runs again is computed once all the same; so is a recursive one
WITH c AS NOT MATERIALIZED (SELECT random() AS r) SELECT count(*) FROM c a JOIN c b ON a.r = b.r;
WITH RECURSIVE c AS NOT MATERIALIZED (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 4) SELECT count(*) FROM c a JOIN c b ON a.n = b.n;
-- queries that double each other
WITH a AS NOT MATERIALIZED (SELECT 1 AS n), b AS NOT MATERIALIZED (SELECT x.n FROM a x JOIN a y USING (n)), c AS NOT MATERIALIZED (SELECT x.n FROM b x JOIN b y USING (n)), d AS NOT MATERIALIZED (SELECT x.n FROM c x JOIN c y USING (n)) SELECT count(*) FROM d x JOIN d y USING (n);

-- MATERIALIZED and neither
WITH c AS MATERIALIZED (SELECT id, x FROM nm) SELECT count(*) FROM c a JOIN c b ON a.x = b.x;
WITH c AS (SELECT id, x FROM nm) SELECT count(*) FROM c a JOIN c b ON a.x = b.x;
