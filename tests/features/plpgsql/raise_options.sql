DO $$ BEGIN RAISE EXCEPTION 'plain % and %%', 42; END $$;
DO $$ BEGIN RAISE EXCEPTION USING MESSAGE = 'made ' || 'up', ERRCODE = 'P7777', DETAIL = 'd', HINT = 'h'; END $$;
DO $$ BEGIN RAISE division_by_zero; END $$;
DO $$ BEGIN RAISE SQLSTATE '22012'; END $$;
DO $$ BEGIN RAISE unique_violation USING MESSAGE = 'dup'; END $$;
DO $$ BEGIN RAISE NOTICE 'n: % %', NULL, true; RAISE WARNING 'w'; RAISE INFO 'i'; RAISE LOG 'l'; RAISE DEBUG 'd'; END $$;
DO $$ DECLARE c text; k text; d text; t text; s text; m text; st text; det text; h text; BEGIN
  RAISE EXCEPTION 'text' USING ERRCODE = '23505', COLUMN = 'col', CONSTRAINT = 'con', DATATYPE = 'dt', TABLE = 'tab', SCHEMA = 'sch', DETAIL = 'det', HINT = 'hint';
EXCEPTION WHEN unique_violation THEN
  GET STACKED DIAGNOSTICS c = COLUMN_NAME, k = CONSTRAINT_NAME, d = PG_DATATYPE_NAME, t = TABLE_NAME, s = SCHEMA_NAME,
    m = MESSAGE_TEXT, st = RETURNED_SQLSTATE, det = PG_EXCEPTION_DETAIL, h := PG_EXCEPTION_HINT;
  RAISE NOTICE '% % % % % % % % %', c, k, d, t, s, m, st, det, h;
END $$;
DO $$ BEGIN
  BEGIN RAISE EXCEPTION 'inner' USING ERRCODE = 'P0042'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; RAISE; END;
EXCEPTION WHEN SQLSTATE 'P0042' THEN RAISE NOTICE 'outer %', SQLERRM;
END $$;
DO $$ BEGIN RAISE; END $$;
