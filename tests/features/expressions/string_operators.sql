SELECT 'a' || 'b', 'a' || 1, 1 || 'a', 'x' || true, 'd ' || date '2024-01-01', 'a' || NULL, 'n' || 1.50;
SELECT 1 || 2;
SELECT 'a' || ARRAY['b'], ARRAY['a'] || 'b'::text, ARRAY[1] || 2, 1 || ARRAY[2], ARRAY[1] || ARRAY[2] || NULL;
SELECT 'abc' < 'abd', 'a' < 'B', 'Z' < 'a', '' < ' ', 'a' < 'a ', 'ä' > 'z', '10' < '9';
SELECT 'ab'::char(5) = 'ab'::char(3), 'ab'::char(5) = 'ab', 'ab '::varchar = 'ab', 'ab'::char(5) || 'x', length('ab'::char(5));
SELECT E'a\tb' = 'a' || chr(9) || 'b', E'\x41\u00e4\'', 'it''s', $$dollar 'q'$$, $t$a$$b$t$, U&'\0041\00e4', 'con'
'cat';
SELECT E'\u12';
SELECT U&'\00zz';
SELECT 'abc' LIKE 'a_c', 'abc' LIKE '%', '' LIKE '_', 'a%' LIKE 'a\%', 'a_b' LIKE 'a#_b' ESCAPE '#', 'abc' LIKE NULL, 'a' || chr(10) || 'b' LIKE 'a%b';
SELECT 'abc' LIKE 'abc\';
SELECT 'abc' SIMILAR TO 'a(b|x)c', 'abc' SIMILAR TO 'ab', 'ab12' SIMILAR TO '[a-z]+[0-9]*', 'a.c' SIMILAR TO 'a.c', 'abc' SIMILAR TO 'a.c', 'x' NOT SIMILAR TO 'y';
SELECT substring('foobar' SIMILAR '%#"o_b#"%' ESCAPE '#'), substring('foobar' FROM 'o.b'), substring('foobar' FROM 'o(.)b'), substring('foobar' FROM 'z');
SELECT count(*) FROM (VALUES ('Apple'), ('banana'), (NULL), ('apricot')) AS v (f) WHERE f ILIKE 'ap%';
SELECT f FROM (VALUES ('B'), ('a'), ('C'), ('b')) AS v (f) ORDER BY f COLLATE "C";
SELECT trim('  x '), trim(BOTH 'xy' FROM 'yxTxx'), trim(LEADING FROM '  a'), trim(TRAILING '!' FROM 'hi!!'), btrim('xxaxx', 'x'), ltrim('zzyt', 'xyz'), rtrim('testxxzx', 'xyz'), trim('' FROM 'a');
