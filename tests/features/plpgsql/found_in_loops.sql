CREATE TABLE t (a integer PRIMARY KEY, b text);
INSERT INTO t SELECT i, 'b' || i FROM generate_series(1, 4) AS i;
-- FOUND inside of a loop is what it was before it; behind it, whether there was a round
DO $$ DECLARE r record; c CURSOR FOR SELECT a FROM t WHERE a < 3 ORDER BY a; d CURSOR (n integer) FOR SELECT a FROM t WHERE a < n ORDER BY a; n integer; BEGIN
  FOR r IN SELECT a FROM t WHERE a < 3 LOOP RAISE NOTICE 'query %', FOUND; END LOOP; RAISE NOTICE 'query %', FOUND;
  PERFORM 1 WHERE false;
  FOR r IN c LOOP RAISE NOTICE 'cursor %', FOUND; END LOOP; RAISE NOTICE 'cursor %', FOUND;
  PERFORM 1 WHERE false;
  FOR r IN d(3) LOOP GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'cursor with arguments % %', FOUND, n; END LOOP; RAISE NOTICE 'cursor with arguments %', FOUND;
  FOR r IN d(0) LOOP RAISE NOTICE 'never'; END LOOP; RAISE NOTICE 'no rows %', FOUND;
  OPEN d(2); GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'open % %', FOUND, n; CLOSE d;
  PERFORM 1 WHERE false;
  OPEN c; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'open % %', FOUND, n; CLOSE c;
  BEGIN OPEN d(n := 1 / n); EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'open fails %', FOUND; END;
  FOR i IN 1 .. 2 LOOP RAISE NOTICE 'integers %', FOUND; END LOOP; RAISE NOTICE 'integers %', FOUND;
  PERFORM 1 WHERE false;
  FOREACH n IN ARRAY ARRAY[1] LOOP RAISE NOTICE 'foreach %', FOUND; END LOOP; RAISE NOTICE 'foreach %', FOUND;
  PERFORM 1 WHERE false;
  FOR r IN EXECUTE 'SELECT 1 AS a' LOOP RAISE NOTICE 'execute %', FOUND; END LOOP; RAISE NOTICE 'execute %', FOUND;
  PERFORM 1 WHERE false;
  FOR r IN UPDATE t SET b = b WHERE a = 1 RETURNING a LOOP RAISE NOTICE 'update %', FOUND; END LOOP; RAISE NOTICE 'update %', FOUND;
END $$;
-- leaving several loops at once
DO $$ BEGIN
  <<outer_loop>> FOR i IN 1 .. 2 LOOP
    RAISE NOTICE 'round % %', i, FOUND;
    FOR j IN 1 .. 2 LOOP CONTINUE outer_loop; END LOOP;
  END LOOP;
  RAISE NOTICE 'end %', FOUND;
  PERFORM 1 WHERE false;
  <<block>> BEGIN FOR j IN 1 .. 2 LOOP EXIT block; END LOOP; END;
  RAISE NOTICE 'exit of a block %', FOUND;
  PERFORM 1 WHERE false;
  <<block>> BEGIN LOOP EXIT block WHEN true; END LOOP; END;
  RAISE NOTICE 'no FOR %', FOUND;
  <<while_loop>> WHILE NOT FOUND LOOP
    FOR j IN 1 .. 2 LOOP CONTINUE while_loop WHEN j = 2; RAISE NOTICE 'stays % %', j, FOUND; END LOOP;
  END LOOP;
  RAISE NOTICE 'while %', FOUND;
  PERFORM 1 WHERE false;
  FOR j IN 1 .. 2 LOOP <<inside>> BEGIN EXIT inside; END; RAISE NOTICE 'inside %', FOUND; END LOOP;
  PERFORM 1 WHERE false;
  <<block>> BEGIN FOR j IN 1 .. 2 LOOP BEGIN EXIT block; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END;
  RAISE NOTICE 'through a handler %', FOUND;
END $$;
-- a loop over no rows leaves NULLs
DO $$ DECLARE x integer := 1; y text := 'y'; r record; s t; arr integer[] := '{1}'; BEGIN
  FOR x, y IN SELECT a, b FROM t WHERE a > 100 LOOP NULL; END LOOP; RAISE NOTICE '% %', x, y;
  x := 1; FOR x IN SELECT a FROM t ORDER BY a LOOP EXIT WHEN x = 2; END LOOP; RAISE NOTICE '%', x;
  FOR x IN SELECT a FROM t ORDER BY a LOOP CONTINUE; END LOOP; RAISE NOTICE '%', x;
  FOR x IN EXECUTE 'SELECT a FROM t WHERE false' LOOP NULL; END LOOP; RAISE NOTICE '%', x;
  x := 1; FOR x IN DELETE FROM t WHERE a > 100 RETURNING a LOOP NULL; END LOOP; RAISE NOTICE '%', x;
  SELECT * INTO s FROM t WHERE a = 1; FOR s IN SELECT * FROM t WHERE a > 100 LOOP NULL; END LOOP; RAISE NOTICE '% % %', s.a, s.b, s IS NULL;
  SELECT * INTO s FROM t WHERE a = 1; FOR s.b IN SELECT b FROM t WHERE a > 100 LOOP NULL; END LOOP; RAISE NOTICE '% %', s.a, s.b;
  FOR r IN SELECT a FROM t WHERE a > 100 LOOP NULL; END LOOP; RAISE NOTICE '% %', r.a, r IS NULL;
  FOR r IN EXECUTE 'SELECT a, b FROM t WHERE false' LOOP RAISE NOTICE '%', r.c; END LOOP;
  FOR x IN SELECT a FROM t WHERE a > x LOOP NULL; END LOOP; RAISE NOTICE '%', x;
  x := 2; FOR x IN SELECT a FROM t WHERE a > x ORDER BY a LOOP RAISE NOTICE 'row %', x; END LOOP; RAISE NOTICE '%', x;
  FOREACH x IN ARRAY '{}'::integer[] LOOP NULL; END LOOP; RAISE NOTICE '%', x;
END $$;
DO $$ DECLARE x integer NOT NULL := 1; BEGIN FOR x IN SELECT a FROM t ORDER BY a LOOP NULL; END LOOP; RAISE NOTICE '%', x; END $$;
DO $$ DECLARE x integer NOT NULL := 1; BEGIN
  FOR x IN SELECT a FROM t WHERE a > 100 LOOP NULL; END LOOP;
EXCEPTION WHEN null_value_not_allowed THEN RAISE NOTICE '% %', x, FOUND; END $$;
-- state only: the message does not name the variable
DO $$ DECLARE x integer NOT NULL := 1; BEGIN FOR x IN EXECUTE 'SELECT 1 WHERE false' LOOP NULL; END LOOP; END $$;
CREATE FUNCTION last_of(low integer, OUT x integer, OUT y text) LANGUAGE plpgsql AS $$
BEGIN x := -1; y := 'none'; FOR x, y IN SELECT a, b FROM t WHERE a > low ORDER BY a LOOP NULL; END LOOP; END $$;
SELECT * FROM last_of(2);
SELECT * FROM last_of(9);
