-- "char": one byte, written \ooo where it is no ASCII
SELECT 'a'::"char" AS a, '\101'::"char" AS b, '\377'::"char" AS c, '\000'::"char"::text AS d, ''::"char"::text AS e;
SELECT '\377'::text::"char" AS a, 'abc'::"char" AS b, '\1'::"char" AS c, '\189'::"char" AS d;
SELECT 'ä'::"char" AS a;
-- the domain of what COALESCE and its kin give
CREATE DOMAIN small AS integer CHECK (VALUE < 10);
CREATE DOMAIN tiny AS integer CHECK (VALUE < 5);
SELECT pg_typeof(coalesce(4::small, 7::small)) AS a, pg_typeof(coalesce(4::small, 7)) AS b, pg_typeof(coalesce(4::small, 2::tiny)) AS c,
       pg_typeof(CASE WHEN true THEN 1::small ELSE 2::small END) AS d, pg_typeof(CASE WHEN true THEN 1::small END) AS e,
       pg_typeof(greatest(1::small, 2::small)) AS f, pg_typeof(least(1::small, NULL)) AS g;
DROP DOMAIN small, tiny;
-- names of the catalog by their bytes
SELECT typname[0] AS a, typname[1] AS b, typname[4] AS c FROM pg_type WHERE oid = 23;
-- places of rows
CREATE TABLE placed (a integer);
INSERT INTO placed VALUES (1), (2);
SELECT ctid, a FROM placed ORDER BY a;
SELECT p.tableoid IS NULL AS a, q.ctid AS b FROM placed p LEFT JOIN placed q ON q.a = p.a + 1 ORDER BY p.a;
DROP TABLE placed;
CREATE TEMPORARY TABLE short_lived (a integer PRIMARY KEY);
SELECT relname, relpersistence FROM pg_class WHERE relname LIKE 'short%' ORDER BY 1;
SELECT array_length(acldefault('r', (SELECT oid FROM pg_roles WHERE rolname = current_user)), 1) AS n, acldefault('c', 10) AS c;
-- "char" and numbers
SELECT 'a'::"char"::int AS a, '\377'::"char"::integer AS b, ''::"char"::int AS c, CAST('12'::"char" AS int) + 1 AS d;
SELECT 97::"char" AS a, (-1)::"char" AS b, (-128)::"char" AS c, 0::"char"::text = '' AS d, 127::"char"::int AS e;
SELECT 128::"char" AS a;
SELECT (-129)::"char" AS a;
SELECT 97::bigint::"char" AS a;
SELECT 97::smallint::"char" AS a;
SELECT true::"char" AS a;
SELECT 1.5::"char" AS a;
SELECT 'a'::"char"::smallint AS a;
SELECT 'a'::"char"::bigint AS a;
SELECT NULL::"char" AS a, NULL::int::"char" AS b, NULL::"char"::int AS c;
-- texts that are no constants
SELECT x::"char" AS a, x::"char"::text AS b, x::"char"::int AS c FROM (VALUES ('\377'), ('ä'), ('abc'), (''), ('\101'), (NULL), ('\1'), ('\477')) AS v(x);
SELECT n::"char" AS a FROM generate_series(125, 128) AS n;
SELECT n::"char" AS a, n::"char"::int = n AS b FROM generate_series(-3, 3) AS n;
SELECT 'abc'::varchar::"char" AS a, 'xyz'::char(3)::"char" AS b, 'xyz'::name::"char" AS c;
