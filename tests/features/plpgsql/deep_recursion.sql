CREATE FUNCTION down(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  IF n = 0 THEN RETURN 0; END IF;
  RETURN 1 + down(n - 1);
END $$;
SELECT down(10);
SELECT down(250);
CREATE FUNCTION odd(n integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN false; END $$;
CREATE FUNCTION even(n integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF n = 0 THEN RETURN true; END IF; RETURN odd(n - 1); END $$;
CREATE OR REPLACE FUNCTION odd(n integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF n = 0 THEN RETURN false; END IF; RETURN even(n - 1); END $$;
SELECT even(200), odd(200), odd(201);
CREATE TABLE t (n integer);
CREATE PROCEDURE fill(n integer) LANGUAGE plpgsql AS $$ BEGIN IF n > 0 THEN INSERT INTO t VALUES (n); CALL fill(n - 1); END IF; END $$;
CALL fill(200);
SELECT count(*), sum(n) FROM t;
CREATE FUNCTION for_ever(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN for_ever(n + 1); END $$;
SELECT for_ever(1);
DO $$ BEGIN PERFORM for_ever(1); EXCEPTION WHEN statement_too_complex OR program_limit_exceeded THEN RAISE NOTICE 'too deep'; END $$;
SELECT down(20);
