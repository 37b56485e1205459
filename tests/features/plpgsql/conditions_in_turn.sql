-- a condition that does not fit the catalog is an error where it is reached; CASE computes its value once
CREATE FUNCTION f(a integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF a = 1 THEN
    RETURN 'one';
  ELSIF a = 2 THEN
    RETURN 'two';
  ELSIF nowhere > 1 THEN
    RETURN 'never';
  ELSE
    RETURN 'nor this';
  END IF;
EXCEPTION WHEN undefined_column THEN
  RETURN 'caught';
END $$;
SELECT f(1), f(2), f(3);
CREATE FUNCTION g(a integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  CASE a
    WHEN 1, 2 THEN RETURN 'small';
    WHEN 3 THEN RETURN 'three';
    WHEN lower(4) THEN RETURN 'never';
    ELSE RETURN 'nor this';
  END CASE;
END $$;
SELECT g(1), g(2), g(3);
SELECT g(4);
CREATE FUNCTION h(a integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  CASE WHEN a = 1 THEN RETURN 'one';
    WHEN a = date '2020-01-01' THEN RETURN 'never';
  END CASE;
END $$;
SELECT h(1);
SELECT h(2);
CREATE SEQUENCE s;
CREATE FUNCTION drawn(a integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'drawn %', a; RETURN a; END $$;
DO $$
BEGIN
  CASE nextval('s')
    WHEN 3 THEN RAISE NOTICE 'three';
    WHEN 2 THEN RAISE NOTICE 'two';
    WHEN 1, 4 THEN RAISE NOTICE 'one';
  END CASE;
  CASE drawn(5) WHEN 3 THEN NULL; WHEN 4, 5 THEN RAISE NOTICE 'five'; END CASE;
  CASE drawn(6) WHEN 3 THEN NULL; WHEN drawn(4), drawn(6) THEN RAISE NOTICE 'six'; END CASE;
  CASE 'a'::char(3) WHEN 'b' THEN NULL; WHEN 'a ' THEN RAISE NOTICE 'a'; END CASE;
  CASE 'x' WHEN 'y' THEN NULL; ELSE RAISE NOTICE 'else'; END CASE;
  CASE NULL WHEN NULL THEN NULL; ELSE RAISE NOTICE 'null'; END CASE;
END $$;
SELECT nextval('s');
DO $$ BEGIN CASE drawn(9) WHEN 1 THEN NULL; END CASE; END $$;
