CREATE TABLE ex (id integer PRIMARY KEY, v integer CHECK (v > 0), u text UNIQUE);
INSERT INTO ex VALUES (1, 1, 'a');
CREATE FUNCTION attempt(i integer, x integer, t text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE st text; msg text; con text; tab text; det text;
BEGIN
  INSERT INTO ex VALUES (i, x, t);
  RETURN 'ok';
EXCEPTION
  WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS st = RETURNED_SQLSTATE, msg = MESSAGE_TEXT, con = CONSTRAINT_NAME, tab = TABLE_NAME, det = PG_EXCEPTION_DETAIL;
    RETURN concat_ws('|', 'unique', st, con, tab, det);
  WHEN check_violation OR not_null_violation THEN
    RETURN 'rule ' || SQLSTATE || ' ' || SQLERRM;
  WHEN OTHERS THEN
    RETURN 'other ' || SQLSTATE;
END $$;
SELECT attempt(1, 1, 'b');
SELECT attempt(2, 1, 'a');
SELECT attempt(2, -1, 'b');
SELECT attempt(NULL, 1, 'b');
SELECT attempt(2, 2, NULL);
SELECT * FROM ex ORDER BY id;
DO $$ BEGIN BEGIN RAISE EXCEPTION 'inner %', 1 USING ERRCODE = 'P1234', DETAIL = 'some detail', HINT = 'a hint'; EXCEPTION WHEN SQLSTATE 'P1234' THEN RAISE NOTICE 'caught %', SQLERRM; RAISE; END; END $$;
DO $$ BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;
DO $$ BEGIN PERFORM 'x'::integer; EXCEPTION WHEN data_exception THEN RAISE NOTICE 'class %', SQLSTATE; END $$;
DO $$ BEGIN RAISE unique_violation; END $$;
DO $$ BEGIN RAISE division_by_zero USING MESSAGE = 'own words'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;
DO $$ BEGIN ASSERT 1 = 2, 'sums are wrong'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'not reached'; END $$;
DO $$ BEGIN BEGIN INSERT INTO ex VALUES (9, 9, 'i'); RAISE EXCEPTION 'undo'; EXCEPTION WHEN raise_exception THEN INSERT INTO ex VALUES (10, 10, 'j'); END; INSERT INTO ex VALUES (11, 11, 'k'); END $$;
SELECT id FROM ex ORDER BY id;
DO $$ BEGIN RAISE; END $$;
DO $$ BEGIN NULL; EXCEPTION WHEN nothing_like_this THEN NULL; END $$;
DO $$ BEGIN RAISE NOTICE 'too few %'; END $$;
DO $$ BEGIN RAISE NOTICE 'too many', 1; END $$;
DO $$ BEGIN RAISE NOTICE '100%% of %', NULL::text; RAISE WARNING 'w'; RAISE INFO 'i'; END $$;
