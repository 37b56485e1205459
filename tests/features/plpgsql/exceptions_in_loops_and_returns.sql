CREATE TABLE el (id integer PRIMARY KEY, v integer NOT NULL);
CREATE FUNCTION load(vals text[]) RETURNS TABLE (pos integer, outcome text) LANGUAGE plpgsql AS $$
BEGIN
  FOR pos IN 1..coalesce(array_length(vals, 1), 0) LOOP
    BEGIN
      INSERT INTO el VALUES (pos, vals[pos]::integer);
      outcome := 'ok';
    EXCEPTION
      WHEN invalid_text_representation THEN outcome := 'not a number';
      WHEN numeric_value_out_of_range THEN outcome := 'too big';
      WHEN not_null_violation THEN outcome := 'missing';
      WHEN unique_violation THEN outcome := 'twice';
    END;
    load.pos := pos;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM load(ARRAY['1', 'x', NULL, '99999999999', '5']);
SELECT * FROM load(ARRAY['7', '8', '9']);
SELECT * FROM load('{}');
SELECT * FROM load(NULL);
SELECT * FROM el ORDER BY id;
CREATE FUNCTION nested(n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text := '';
BEGIN
  BEGIN
    r := r || 'a';
    BEGIN
      r := r || 'b';
      IF n = 1 THEN PERFORM 1 / 0; END IF;
      IF n = 2 THEN RAISE EXCEPTION 'two'; END IF;
      RETURN r || ' early';
    EXCEPTION WHEN division_by_zero THEN r := r || 'c'; RAISE EXCEPTION 'again';
    END;
  EXCEPTION WHEN raise_exception THEN r := r || 'd ' || SQLERRM;
  END;
  RETURN r;
END $$;
SELECT nested(0), nested(1), nested(2);
CREATE FUNCTION reraise() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO el VALUES (100, 1);
  PERFORM 'x'::integer;
  RETURN 1;
EXCEPTION WHEN OTHERS THEN
  IF SQLSTATE = '22P02' THEN RAISE EXCEPTION 'wrapped: %', SQLERRM USING ERRCODE = 'ABC12'; END IF;
  RAISE;
END $$;
SELECT reraise();
SELECT count(*) FROM el WHERE id = 100;
DO $$ BEGIN PERFORM reraise(); EXCEPTION WHEN SQLSTATE 'ABC12' THEN RAISE NOTICE '%', SQLERRM; END $$;
DO $$ DECLARE n integer := 0; BEGIN LOOP BEGIN n := n + 1; IF n < 3 THEN RAISE EXCEPTION 'retry'; END IF; EXIT; EXCEPTION WHEN raise_exception THEN RAISE NOTICE 'try %', n; END; END LOOP; RAISE NOTICE 'after %', n; END $$;
DO $$ BEGIN RAISE NOTICE '%', SQLERRM; END $$;
DO $$ BEGIN BEGIN RAISE EXCEPTION 'a'; EXCEPTION WHEN no_data_found THEN NULL; END; END $$;
DO $$ BEGIN BEGIN PERFORM nothing(); EXCEPTION WHEN undefined_function THEN RAISE NOTICE 'none'; END; BEGIN EXECUTE 'SELECT * FROM nothing'; EXCEPTION WHEN undefined_table THEN RAISE NOTICE 'no table'; END; END $$;
