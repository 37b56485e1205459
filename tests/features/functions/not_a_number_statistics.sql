CREATE TABLE f (id integer, x double precision, r real, n numeric);
INSERT INTO f SELECT i, CASE WHEN i % 3 = 0 THEN 'NaN'::double precision WHEN i % 3 = 1 THEN '-Infinity' ELSE i END, CASE WHEN i % 2 = 0 THEN 'NaN'::real ELSE i END, CASE WHEN i % 4 = 0 THEN 'NaN'::numeric ELSE i END FROM generate_series(1, 300) AS i;
ANALYZE f;
SELECT count(*), count(DISTINCT x), max(x), min(x), max(n) FROM f;
SELECT count(*) FROM f WHERE x = 'NaN';
SELECT count(*) FROM f WHERE x > 100 AND n < 50;
SELECT count(*) FROM f AS a JOIN f AS b ON a.x = b.x AND a.id = b.id WHERE a.r = 'NaN';
