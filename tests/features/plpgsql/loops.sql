-- LOOP, WHILE, FOR over integers, EXIT and CONTINUE with labels
CREATE FUNCTION count_up(n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  i integer := 0;
  t text := '';
BEGIN
  LOOP
    i := i + 1;
    EXIT WHEN i > n;
    CONTINUE WHEN i % 2 = 0;
    t := t || i || ' ';
  END LOOP;
  RETURN t;
END $$;
SELECT count_up(7);
CREATE FUNCTION nested(n integer) RETURNS integer LANGUAGE plpgsql AS $f$
DECLARE s integer := 0;
BEGIN
  <<outer_loop>>
  FOR i IN 1..n LOOP
    FOR j IN REVERSE n..1 BY 2 LOOP
      CONTINUE outer_loop WHEN j < i;
      EXIT outer_loop WHEN i + j > 12;
      s := s + j;
    END LOOP;
  END LOOP outer_loop;
  RETURN s;
END;
$f$;
SELECT n, nested(n) FROM generate_series(0, 8) AS g(n) ORDER BY n;
CREATE FUNCTION collatz(n bigint) RETURNS integer LANGUAGE plpgsql AS '
DECLARE steps int = 0;
BEGIN
  WHILE n <> 1 LOOP
    IF n % 2 = 0 THEN n := n / 2; ELSE n := 3 * n + 1; END IF;
    steps := steps + 1;
  END LOOP;
  RETURN steps;
END';
SELECT collatz(27), collatz(1);
DO $$ BEGIN FOR i IN 1..3 BY 0 LOOP NULL; END LOOP; END $$;
DO $$ BEGIN FOR i IN NULL..3 LOOP NULL; END LOOP; END $$;
DO $$ DECLARE i int := 42; BEGIN FOR i IN 1..2 LOOP RAISE NOTICE '%', i; END LOOP; RAISE NOTICE 'after %', i; END $$;
