-- a literal without a type has the type beside it, not its length or scale
CREATE TABLE t (id integer PRIMARY KEY, c char(5), d char(3), v varchar(3), n numeric(5,2), x text);
INSERT INTO t VALUES (1, 'ab', 'q', 'vv', 1.25, 'x'), (2, NULL, NULL, NULL, NULL, NULL);
SELECT id, octet_length(coalesce(c, 'zz')), octet_length(greatest(c, 'zz')), octet_length(least(c, 'a')), octet_length(CASE WHEN id = 1 THEN c ELSE 'e' END) FROM t ORDER BY id;
SELECT id, octet_length(coalesce(c, d)), octet_length(coalesce(c, NULL)), octet_length(nullif(c, 'q')), octet_length(nullif('q', c)) FROM t ORDER BY id;
SELECT id, format('[%s]', coalesce(c, 'zz')), format('[%s]', coalesce(d, 'zzzzzz')), coalesce(v, 'longer'), coalesce(n, '1.23456'), greatest(n, '3.14159') FROM t ORDER BY id;
SELECT id, coalesce(c, d, 'zz'), coalesce(x, c, 'y'), octet_length(coalesce(c, x, 'y')), CASE id WHEN 1 THEN d WHEN 2 THEN c END FROM t ORDER BY id;
SELECT id, coalesce(c, 'zz') = 'zz', coalesce(c, 'zz') = 'zz   ', coalesce(c, 'zz ') || '!', length(coalesce(c, 'zz ')), octet_length(coalesce(c, 'zz ')) FROM t ORDER BY id;
SELECT id, format('[%s]', u) FROM (SELECT id, c AS u FROM t UNION ALL SELECT 3, 'k' UNION ALL SELECT 4, 'toolongg') q ORDER BY id;
SELECT ARRAY[c, 'zz'], octet_length((ARRAY[c, 'zz'])[2]) FROM t WHERE id = 1;
SELECT format('[%s]', a), octet_length(a) FROM (VALUES ('x'::char(4)), ('y'), ('long enough')) v (a) ORDER BY a;
SELECT a FROM (VALUES (1.25::numeric(5,2)), ('3.14159'), (NULL)) v (a) ORDER BY a;
SELECT id, lag(c, 1, 'z') OVER (ORDER BY id), octet_length(lag(c, 1, 'z') OVER (ORDER BY id)), lag(n, 1, '1.2345') OVER (ORDER BY id) FROM t ORDER BY id;
SELECT coalesce(c, 'e') AS k, count(*) FROM t GROUP BY 1 ORDER BY 1;
SELECT a.id, b.id FROM t a JOIN t b ON coalesce(a.c, 'ab') = coalesce(b.c, 'ab ') ORDER BY 1, 2;
SELECT 'x' LIKE coalesce(NULL::char(3), 'x'), coalesce(NULL::char(3), 'x') LIKE 'x';
UPDATE t SET d = coalesce(d, 'zz'), v = coalesce(v, 'w'), n = coalesce(n, '2.5') RETURNING *;
UPDATE t SET v = greatest(v, 'wxyz');
CREATE FUNCTION f(a char(4), b varchar(2), c numeric(4,1)) RETURNS text LANGUAGE plpgsql AS $$
DECLARE x char(4) := a; n numeric(4,1) := c;
BEGIN
  RETURN format('[%s] [%s] %s', coalesce(x, 'q'), coalesce(b, 'long'), greatest(n, '1.25'));
END $$;
SELECT f('a', 'b', 1.1), f(NULL, NULL, NULL);
