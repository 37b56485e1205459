CREATE FUNCTION r(n integer) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT i, 'v' || i FROM generate_series(1, n) AS g(i); END $$;
SELECT * FROM r(2) AS t(a integer, b text) ORDER BY a;
SELECT b FROM r(3) AS t(a integer, b text) WHERE a = 3;
SELECT * FROM r(1);
SELECT * FROM r(1) AS t(a text, b text);
CREATE FUNCTION one() RETURNS record LANGUAGE plpgsql AS $$ DECLARE x record; BEGIN SELECT 1 AS a, 'y'::text AS b INTO x; RETURN x; END $$;
SELECT * FROM one() AS t(a integer, b text);
