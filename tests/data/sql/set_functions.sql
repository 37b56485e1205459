-- Functions that return rows, WITH, set operations, and what else FROM may hold.
CREATE TABLE w (id integer PRIMARY KEY, grp text, v integer, d date);

INSERT INTO w SELECT i, 'g' || i % 3, nullif(i * 7 % 11, 4), date '2024-01-01' + i FROM generate_series(1, 20) s(i);

SELECT * FROM generate_series(timestamp '2024-01-01', timestamp '2024-01-02', interval '6 hours') g;

SELECT * FROM generate_series(1.5, 3.5, 0.5) g;

SELECT * FROM generate_series(1, 10, 3) WITH ORDINALITY;

SELECT * FROM generate_series(5, 1, -2) WITH ORDINALITY AS t (x, n);

SELECT * FROM unnest(ARRAY['a', 'b', 'c']) WITH ORDINALITY AS t (x, n);

SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b', 'c']) AS t (x, y);

SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['x', 'y'])) AS t (a, b);

SELECT generate_series(1, 3);

SELECT id, generate_series(1, 2) FROM w WHERE id < 3 ORDER BY 1, 2;

SELECT unnest(ARRAY[1, 2, 3]) AS x;

SELECT generate_series(1, 3) + 10, unnest(ARRAY['a', 'b']);

SELECT unnest(string_to_array('a,b,c', ','));

SELECT count(*) FROM (SELECT unnest(ARRAY[1, 2, 3]) x) q WHERE x > 1;

SELECT * FROM regexp_split_to_table('a b  c', '\s+') t;

SELECT * FROM string_to_table('a,b,,c', ',', '') t;

SELECT * FROM generate_subscripts(ARRAY[4, 5, 6], 1) s;

SELECT a.id, b.x FROM w a, LATERAL (SELECT a.id * 2 AS x) b WHERE a.id < 4 ORDER BY 1;

SELECT a.id, s FROM w a CROSS JOIN LATERAL generate_series(1, a.id) s WHERE a.id < 4 ORDER BY 1, 2;

SELECT a.id, b.id FROM w a LEFT JOIN LATERAL (SELECT id FROM w c WHERE c.v = a.v AND c.id > a.id ORDER BY id LIMIT 1) b ON true ORDER BY 1;

SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (x, y) NATURAL JOIN (VALUES (2, 'q')) AS u (x, z);

SELECT * FROM (w a JOIN w b USING (id)) j WHERE id < 3;

SELECT j.id FROM (w a JOIN w b USING (id)) AS j WHERE id < 3 ORDER BY 1;

SELECT * FROM w a JOIN w b USING (id) AS q WHERE q.id = 1;

SELECT x.* FROM w x WHERE x.id = 1;

WITH RECURSIVE t (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t;

WITH RECURSIVE t (n, p) AS (SELECT 1, '1' UNION SELECT n % 4 + 1, p || n FROM t WHERE length(p) < 6) SELECT * FROM t ORDER BY 1, 2;

WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT a.n, b.n FROM t a, t b WHERE a.n < b.n ORDER BY 1, 2;

WITH RECURSIVE f (a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f WHERE b < 100) SELECT a FROM f;

WITH RECURSIVE t AS (SELECT id, v, ARRAY[id] AS path FROM w WHERE id = 1 UNION ALL SELECT w.id, w.v, t.path || w.id FROM w JOIN t ON w.id = t.id + 5) SELECT * FROM t ORDER BY id;

WITH a AS (SELECT 1 x), b AS (SELECT x + 1 y FROM a) SELECT * FROM a, b;

WITH a (p, q) AS (SELECT 1, 2) SELECT p, q FROM a;

WITH x AS MATERIALIZED (SELECT * FROM w) SELECT count(*) FROM x;

SELECT 1 UNION SELECT 2 EXCEPT SELECT 1 ORDER BY 1;

SELECT v FROM w EXCEPT ALL SELECT id FROM w ORDER BY 1;

SELECT v FROM w INTERSECT ALL SELECT id FROM w ORDER BY 1;

(SELECT 1 AS a ORDER BY 1 LIMIT 1) UNION ALL (SELECT 2 LIMIT 1) ORDER BY a DESC;

SELECT NULL UNION SELECT 1 ORDER BY 1;

SELECT 'a' UNION SELECT NULL ORDER BY 1;

VALUES (1, 2), (3, 4) ORDER BY 1 DESC LIMIT 1;

TABLE w ORDER BY id LIMIT 2;

SELECT id FROM w ORDER BY v DESC NULLS LAST, id LIMIT 3;

SELECT id FROM w WHERE (grp, v) IN (SELECT grp, max(v) FROM w GROUP BY grp) ORDER BY 1;

SELECT id FROM w WHERE (id, v) > (10, 5) ORDER BY 1;

SELECT id FROM w WHERE v = ANY (SELECT id FROM w WHERE id < 4) ORDER BY 1;

SELECT id FROM w WHERE v > ALL (SELECT id FROM w WHERE id < 4) ORDER BY 1;

SELECT id FROM w WHERE v = ANY (ARRAY[1, 2]) ORDER BY 1;

SELECT id FROM w WHERE (1, 2) = (SELECT 1, 2) AND id < 3;

SELECT ARRAY(SELECT id FROM w WHERE id < 4 ORDER BY id);

SELECT (SELECT id, v FROM w LIMIT 1);

SELECT (SELECT id FROM w);

SELECT id AS "select", v "Weird Name" FROM w WHERE id = 1;

SELECT a.id FROM w AS a (id, g) WHERE g = 'g1' ORDER BY 1;

SELECT * FROM w a FULL JOIN w b ON a.id = b.id + 15 ORDER BY 1, 5;

SELECT count(*) FROM w a RIGHT JOIN w b ON a.v = b.id;

SELECT id FROM w WHERE id BETWEEN SYMMETRIC 5 AND 3 ORDER BY 1;

SELECT DISTINCT grp, v > 5 FROM w ORDER BY 1, 2;

SELECT * FROM (SELECT id, grp FROM w) AS s (a) WHERE a = 1;

SELECT sum(id) FILTER (WHERE v > 3) FROM w;

SELECT max(id) FROM w WHERE false;

SELECT id FROM w LIMIT ALL OFFSET 18;

SELECT id FROM w LIMIT NULL OFFSET NULL;

SELECT id FROM w ORDER BY id LIMIT (SELECT 2);

SELECT CURRENT_DATE = CURRENT_DATE, LOCALTIMESTAMP IS NOT NULL, now() IS NOT NULL;

SELECT x, n FROM generate_series(timestamp '2024-03-01', '2024-01-01', '-1 month') WITH ORDINALITY AS t (x, n)

SELECT * FROM generate_series(1, 5, 0)

SELECT * FROM generate_series(1.5, 3, 0) g

SELECT * FROM generate_series(NULL::integer, 3) g

SELECT * FROM generate_series(1, 2) AS t (a, b)

SELECT generate_series(1, 2), generate_series(1, 2) FROM w WHERE id = 1

SELECT id, unnest(ARRAY[id, v]) AS u FROM w WHERE id < 4 ORDER BY u DESC NULLS LAST, id LIMIT 4

SELECT a.id, unnest(ARRAY[a.id, b.id]) FROM w a LEFT JOIN w b ON b.id = a.id + 18 WHERE a.id < 4 ORDER BY 1, 2

SELECT DISTINCT unnest(ARRAY[v % 3, v % 2]) FROM w ORDER BY 1

SELECT id FROM w WHERE id = generate_series(1, 2)

SELECT count(unnest(ARRAY[1])) FROM w

SELECT sum(id) OVER (ORDER BY unnest(ARRAY[1])) FROM w

SELECT id FROM w WHERE id IN (SELECT unnest(ARRAY[3, 4])) ORDER BY 1

SELECT abs_value FROM abs(-3) AS abs_value

SELECT * FROM upper('x')

SELECT w.id, u FROM w, upper(w.grp) u WHERE w.id < 3 ORDER BY 1

WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t LIMIT 5

WITH RECURSIVE t (n) AS (SELECT 1 UNION SELECT n % 5 + 1 FROM t) SELECT n, count(*) OVER () FROM t ORDER BY n

WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4), u (m) AS (SELECT 1 UNION ALL SELECT m + n FROM u, t WHERE m < 6 AND n > 2) SELECT * FROM u ORDER BY m
;;
-- WITH ORDINALITY of routines
CREATE TABLE ordinals (a integer PRIMARY KEY, b text);
INSERT INTO ordinals SELECT i, 'o' || i FROM generate_series(1, 4) i;
CREATE FUNCTION scalars(n integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN FOR i IN REVERSE n..1 LOOP RETURN NEXT i; END LOOP; END $$;
CREATE FUNCTION pairs(n integer) RETURNS TABLE (x integer, y text) LANGUAGE sql AS $$ SELECT a, b FROM ordinals WHERE a <= n ORDER BY a DESC $$;
CREATE FUNCTION rows_of(n integer) RETURNS SETOF ordinals LANGUAGE sql AS $$ SELECT * FROM ordinals WHERE a <= n ORDER BY a DESC $$;
CREATE FUNCTION anything() RETURNS SETOF record LANGUAGE sql AS $$ SELECT a, b FROM ordinals ORDER BY a DESC $$;
CREATE FUNCTION one_value(n integer) RETURNS integer LANGUAGE sql AS $$ SELECT n + 1 $$;
SELECT * FROM scalars(3) WITH ORDINALITY;
SELECT * FROM scalars(3) WITH ORDINALITY AS t (v, n) WHERE n > 1;
SELECT * FROM scalars(3) WITH ORDINALITY t WHERE t.ordinality = 2;
SELECT * FROM pairs(3) WITH ORDINALITY;
SELECT z.ord, y FROM pairs(3) WITH ORDINALITY AS z (x, y, ord) ORDER BY ord DESC;
SELECT * FROM rows_of(2) WITH ORDINALITY AS t (a, b, ord);
SELECT * FROM anything() WITH ORDINALITY AS t (p integer, q text);
SELECT * FROM one_value(4) WITH ORDINALITY;
SELECT * FROM ordinals o, scalars(o.a) WITH ORDINALITY AS s (v, n) WHERE o.a < 4 ORDER BY o.a, n;
SELECT * FROM ordinals o LEFT JOIN LATERAL pairs(o.a - 1) WITH ORDINALITY p ON true ORDER BY o.a, p.ordinality;
SELECT * FROM scalars(3) WITH ORDINALITY AS t (a, b, c);
CREATE VIEW numbered AS SELECT * FROM pairs(3) WITH ORDINALITY AS z (x, y, ord);
SELECT * FROM numbered;
