-- a default that does not fit is found when the block is entered
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  x integer := 1;
BEGIN
  RAISE NOTICE 'entered';
  DECLARE
    y numeric := round(floor(a), 2);
  BEGIN
    RAISE NOTICE 'never';
  END;
  RETURN x;
EXCEPTION WHEN undefined_function THEN
  RAISE NOTICE 'caught %', SQLSTATE;
  RETURN -1;
END $$;
SELECT f(1);
CREATE FUNCTION g(a integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  x integer := nowhere + 1;
BEGIN
  RETURN x;
END $$;
SELECT g(1);
CREATE FUNCTION h(a integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  IF a > 1 THEN
    DECLARE
      x CONSTANT integer NOT NULL := (SELECT count(missing) FROM pg_class);
      y integer := x;
    BEGIN
      RETURN 2;
    END;
  END IF;
  RETURN 1;
END $$;
SELECT h(1);
SELECT h(2);
DO $$ DECLARE x integer := upper('a', 'b'); BEGIN NULL; END $$;
CREATE FUNCTION k(a integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  x integer := nobody(1);
BEGIN
  RETURN x;
EXCEPTION WHEN OTHERS THEN
  RETURN 0;
END $$;
SELECT k(1);
DO $$ BEGIN DECLARE x integer := nobody(1); BEGIN NULL; EXCEPTION WHEN OTHERS THEN NULL; END; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'outer %', SQLSTATE; END $$;
