DO $$ DECLARE a integer := 1; b text := 'x'; BEGIN
  BEGIN a := 2; b := 'y'; PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', a, b; END;
  a := a + 1; RAISE NOTICE '%', a;
END $$;
DO $$ BEGIN RAISE NOTICE '%', SQLERRM; END $$;
DO $$ BEGIN PERFORM 'x'::integer; EXCEPTION WHEN invalid_text_representation THEN RAISE NOTICE '% / %', SQLSTATE, SQLERRM; END $$;
DO $$ BEGIN PERFORM sqrt(-1); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% / %', SQLSTATE, SQLERRM; END $$;
DO $$ BEGIN PERFORM 1 FROM missing_table; EXCEPTION WHEN undefined_table THEN RAISE NOTICE '% / %', SQLSTATE, SQLERRM; END $$;
DO $$ BEGIN PERFORM no_function(1); EXCEPTION WHEN undefined_function THEN RAISE NOTICE '% / %', SQLSTATE, SQLERRM; END $$;
DO $$ BEGIN NULL; EXCEPTION WHEN no_such_condition THEN NULL; END $$;
