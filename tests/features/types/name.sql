-- The type name: 63 bytes, longer texts are cut at a character.
CREATE TABLE n (a name, b int PRIMARY KEY);
INSERT INTO n VALUES ('abc', 1), (repeat('x', 70), 2), ('ä' || repeat('ü', 60), 3), (NULL, 4);
SELECT a, length(a), octet_length(a), pg_typeof(a), b FROM n ORDER BY b;
SELECT a || 'z' AS q, pg_typeof(a || 'z'), pg_typeof(upper(a)), a = 'abc' AS same FROM n WHERE b = 1;
CREATE INDEX ON n (a);
SELECT b FROM n WHERE a = 'abc';
SELECT b FROM n WHERE a = repeat('x', 63);
SELECT 'foo'::name AS foo, pg_typeof('foo'::name), repeat('y', 80)::name AS y;
UPDATE n SET a = repeat('z', 80) WHERE b = 1;
SELECT a, a LIKE 'z%' AS z, a::varchar(3) AS v, a::char(2) AS c, a::text AS t FROM n WHERE b = 1;
CREATE TABLE m AS SELECT * FROM n;
SELECT format_type(atttypid, atttypmod), attlen FROM pg_attribute WHERE attrelid = 'm'::regclass AND attname = 'a';
SELECT data_type, udt_name FROM information_schema.columns WHERE table_name = 'm' ORDER BY ordinal_position;
SELECT a FROM n UNION SELECT 'q' ORDER BY 1;
SELECT max(a), min(a), count(DISTINCT a) FROM n;
SELECT '{a,b}'::name[] AS names;
CREATE FUNCTION f(x name) RETURNS name LANGUAGE plpgsql AS $$ DECLARE y name := x || 'tail'; BEGIN RETURN y; END $$;
SELECT f('abc') AS f, length(f(repeat('q', 62)::name)) AS n;
