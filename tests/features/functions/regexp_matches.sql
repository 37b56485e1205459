-- regexp_matches(): a row for each match, of its groups.
SELECT regexp_matches('foobarbequebaz', 'ba.');
SELECT regexp_matches('foobarbequebaz', '(b)(a.)', 'g');
SELECT regexp_matches('foobar', 'x');
SELECT regexp_matches('foobar', 'X(y)?|o(b)?', 'g');
SELECT regexp_matches('Hello World', '[a-z]+ ([a-z]+)', 'i');
SELECT regexp_matches(NULL, 'x');
SELECT regexp_matches('x', 'x', 'q!');
SELECT regexp_matches('x', '(');
SELECT (regexp_matches('key=value', '(\w+)=(\w+)'))[2];
SELECT m[1] AS k, m[2] AS v FROM regexp_matches('a=1, b=2, c=3', '(\w)=(\d)', 'g') AS m;
SELECT * FROM regexp_matches('a1b2', '\d', 'g') WITH ORDINALITY;
SELECT * FROM regexp_matches('a1b2', '\d', 'g') WITH ORDINALITY AS t(m, n) WHERE n = 2;
SELECT count(*) FROM regexp_matches('a,"b c",d', '[^,]+', 'g');
CREATE TABLE lines (id integer PRIMARY KEY, s text);
INSERT INTO lines VALUES (1, 'x1 y22'), (2, 'none'), (3, 'z333');
SELECT id, regexp_matches(s, '[0-9]+', 'g') FROM lines ORDER BY id;
SELECT id, m FROM lines, regexp_matches(s, '([a-z])([0-9]+)', 'g') AS m ORDER BY id, m;
SELECT id, m[1] FROM lines LEFT JOIN LATERAL regexp_matches(s, '[0-9]+') AS m ON true ORDER BY id;
SELECT array_length(regexp_matches('abc', '(a)(b)(c)'), 1);
SELECT regexp_matches('a"b,c', '"(.*)');
SELECT pg_typeof(m) FROM regexp_matches('a', 'a') m;
DO $$
DECLARE r record; m text[];
BEGIN
  FOR r IN SELECT regexp_matches('k1=v1;k2=v2', '(\w+)=(\w+)', 'g') AS kv LOOP
    RAISE NOTICE '% -> %', r.kv[1], r.kv[2];
  END LOOP;
  SELECT regexp_matches('2024-05-06', '(\d+)-(\d+)-(\d+)') INTO m;
  RAISE NOTICE '%', m[3];
END $$;
SELECT regexp_split_to_table('a b  c', '\s+');
SELECT regexp_count('banana', 'an'), regexp_instr('banana', 'an', 1, 2), regexp_like('banana', 'N', 'i'), regexp_substr('banana', 'n.', 1, 2);
