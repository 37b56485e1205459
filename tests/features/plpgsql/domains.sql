-- Domains of parameters, results, variables, fields and casts in routines.
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE DOMAIN given AS text NOT NULL CHECK (length(VALUE) < 6);
CREATE TABLE t (id integer PRIMARY KEY, p positive, g given DEFAULT 'dflt');
CREATE FUNCTION half(p positive) RETURNS positive LANGUAGE plpgsql AS $$ BEGIN RETURN p / 2; END $$;
SELECT half(4), half('6'), half(NULL);
SELECT half(-4);
SELECT half(1);
SELECT pg_typeof(half(4));
CREATE FUNCTION half_sql(p positive) RETURNS positive LANGUAGE sql AS $$ SELECT p / 2 $$;
SELECT half_sql(4);
SELECT half_sql(1);
SELECT half_sql(0);
CREATE FUNCTION declared(n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  a positive := n;
  b positive;
BEGIN
  b := n - 5;
  RETURN a || ' ' || b;
EXCEPTION WHEN check_violation THEN
  RETURN 'caught: ' || SQLERRM;
END $$;
SELECT declared(6);
SELECT declared(5);
SELECT declared(0);
CREATE FUNCTION missing() RETURNS text LANGUAGE plpgsql AS $$ DECLARE g given; BEGIN RETURN 'never'; END $$;
SELECT missing();
CREATE FUNCTION into_them(n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  a positive := 1;
  b given := 'x';
BEGIN
  BEGIN
    SELECT n, 'text' INTO a, b;
  EXCEPTION WHEN check_violation OR not_null_violation THEN
    RAISE NOTICE 'a is still %: %', a, SQLERRM;
  END;
  BEGIN
    EXECUTE 'SELECT $1, $2' INTO a, b USING n + 1, 'long text';
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
  END;
  FOR a IN SELECT x FROM generate_series(n, n + 2) AS x LOOP
    RAISE NOTICE 'a %', a;
  END LOOP;
  RETURN a || b;
END $$;
SELECT into_them(1);
SELECT into_them(0);
CREATE FUNCTION diagnosed() RETURNS text LANGUAGE plpgsql AS $$
DECLARE c text; d text; s text; m text;
BEGIN
  PERFORM (-1)::positive;
EXCEPTION WHEN check_violation THEN
  GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME, d = PG_DATATYPE_NAME, s = SCHEMA_NAME, m = MESSAGE_TEXT;
  RETURN c || ' ' || d || ' ' || s || ' ' || m;
END $$;
SELECT diagnosed();
CREATE FUNCTION fields() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r t%ROWTYPE; x t.p%TYPE := 3;
BEGIN
  r.id := 1;
  BEGIN
    x := -1;
  EXCEPTION WHEN check_violation THEN
    RAISE NOTICE 'x %', x;
  END;
  r.p := x - 4;
  RETURN 'never';
END $$;
SELECT fields();
CREATE FUNCTION outs(n integer, OUT a positive, OUT b text) LANGUAGE plpgsql AS $$ BEGIN a := n; b := 'b' || n; END $$;
SELECT * FROM outs(3);
SELECT * FROM outs(-3);
CREATE PROCEDURE proc(INOUT a positive, g given) LANGUAGE plpgsql AS $$ BEGIN a := a - 2; INSERT INTO t VALUES (a, a, g); END $$;
CALL proc(5, 'five');
CALL proc(2, 'two');
CALL proc(5, NULL);
CALL proc(6, 'too long');
DO $$
DECLARE v positive := 9;
BEGIN
  CALL proc(v, 'nine');
  RAISE NOTICE 'v %', v;
  CALL proc(v, 'nine and more');
END $$;
SELECT * FROM t ORDER BY id;
CREATE FUNCTION rows_of() RETURNS SETOF positive LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT 1; RETURN NEXT 2; RETURN NEXT 0; END $$;
SELECT * FROM rows_of();
-- triggers
CREATE FUNCTION lower_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.p := NEW.p - 10; RETURN NEW; END $$;
CREATE TRIGGER lower_it BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION lower_it();
INSERT INTO t VALUES (50, 15, 'x') RETURNING p;
INSERT INTO t VALUES (51, 5, 'x');
INSERT INTO t VALUES (52, -5, 'x');
DROP TRIGGER lower_it ON t;
-- checks that call functions
CREATE FUNCTION is_odd(n integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN n % 2 = 1; END $$;
CREATE DOMAIN odd AS integer CHECK (is_odd(VALUE));
SELECT 3::odd;
SELECT 4::odd;
CREATE TABLE odds (o odd);
INSERT INTO odds SELECT x FROM generate_series(1, 5, 2) AS x;
INSERT INTO odds SELECT x FROM generate_series(1, 5) AS x;
SELECT sum(o) FROM odds;
-- definitions inside of routines
CREATE PROCEDURE define() LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'CREATE DOMAIN made AS integer CHECK (VALUE < 10)';
  EXECUTE 'CREATE TABLE of_made (m made)';
  EXECUTE 'INSERT INTO of_made VALUES (5)';
  BEGIN
    EXECUTE 'INSERT INTO of_made VALUES (15)';
  EXCEPTION WHEN check_violation THEN
    RAISE NOTICE '%', SQLERRM;
  END;
  EXECUTE 'ALTER DOMAIN made DROP CONSTRAINT made_check';
  EXECUTE 'INSERT INTO of_made VALUES (15)';
END $$;
CALL define();
SELECT * FROM of_made ORDER BY m;
DROP DOMAIN made;
-- as a whole
SELECT proname, pg_get_function_arguments(oid), pg_get_function_result(oid) FROM pg_proc WHERE proname IN ('half', 'rows_of', 'proc') ORDER BY 1;
-- state only: signatures have base types
DROP DOMAIN positive;
