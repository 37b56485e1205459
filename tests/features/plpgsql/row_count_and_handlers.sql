-- ROW_COUNT and FOUND are those of the last statement that ended: what failed leaves them alone.
CREATE TABLE t (a integer PRIMARY KEY, b text NOT NULL);
INSERT INTO t SELECT i, 'b' || i FROM generate_series(1, 5) AS i;
CREATE FUNCTION fails(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN 1 / n; END $$;
CREATE PROCEDURE fails_too(n integer) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET b = 'x'; n := 1 / n; END $$;
DO $$ DECLARE n integer; BEGIN
  UPDATE t SET b = b WHERE a < 4;
  BEGIN PERFORM fails(0); EXCEPTION WHEN division_by_zero THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'perform % %', n, FOUND; END;
  BEGIN UPDATE t SET b = CASE WHEN a > 3 THEN NULL ELSE b END; EXCEPTION WHEN OTHERS THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'update % %', n, FOUND; END;
  BEGIN INSERT INTO t VALUES (6, 'b6'), (7, 'b7'), (1, 'b1'); EXCEPTION WHEN OTHERS THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'insert % %', n, FOUND; END;
  BEGIN SELECT 1 / (a - 1) INTO n FROM t ORDER BY a; EXCEPTION WHEN OTHERS THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'select % %', n, FOUND; END;
  BEGIN EXECUTE 'DELETE FROM t WHERE 1 / (a - 2) = 1'; EXCEPTION WHEN OTHERS THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'execute % %', n, FOUND; END;
  BEGIN CALL fails_too(0); EXCEPTION WHEN OTHERS THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'call % %', n, FOUND; END;
  DELETE FROM t WHERE a > 100;
  BEGIN PERFORM fails(0); EXCEPTION WHEN OTHERS THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'after none % %', n, FOUND; END;
END $$;
-- a statement that found its rows has told them when INTO fails
DO $$ DECLARE n integer; x integer; w varchar(1); nn integer NOT NULL := 7; BEGIN
  BEGIN SELECT a INTO STRICT x FROM t; EXCEPTION WHEN too_many_rows THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'strict % % %', n, FOUND, x; END;
  BEGIN SELECT a INTO STRICT x FROM t WHERE a = 0; EXCEPTION WHEN no_data_found THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'strict % % %', n, FOUND, x; END;
  BEGIN UPDATE t SET b = b WHERE a < 3 RETURNING a INTO x; EXCEPTION WHEN too_many_rows THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'returning % % %', n, FOUND, x; END;
  BEGIN UPDATE t SET b = b WHERE a < 0 RETURNING a INTO STRICT x; EXCEPTION WHEN no_data_found THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'returning % % %', n, FOUND, x; END;
  BEGIN SELECT b INTO w FROM t WHERE a = 1; EXCEPTION WHEN string_data_right_truncation THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'length % % %', n, FOUND, w; END;
  BEGIN SELECT a INTO nn FROM t WHERE a = 0; EXCEPTION WHEN null_value_not_allowed THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'not null % % %', n, FOUND, nn; END;
  BEGIN INSERT INTO t VALUES (9, 'b9') RETURNING b INTO w; EXCEPTION WHEN string_data_right_truncation THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'insert % % %', n, FOUND, w; END;
  BEGIN EXECUTE 'SELECT a FROM t' INTO STRICT x; EXCEPTION WHEN too_many_rows THEN GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'execute % % %', n, FOUND, x; END;
END $$;
SELECT * FROM t ORDER BY a;
-- what tells no rows of its own
DO $$ DECLARE n integer; r record; x integer; c CURSOR FOR SELECT a FROM t ORDER BY a; BEGIN
  UPDATE t SET b = b WHERE a < 4;
  FOR r IN UPDATE t SET b = b WHERE a = 5 RETURNING a LOOP GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'for update % %', n, FOUND; END LOOP;
  GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'for update % %', n, FOUND;
  FOR r IN SELECT a FROM t WHERE a > 4 LOOP GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'for % %', n, FOUND; END LOOP;
  FOR r IN EXECUTE 'SELECT a FROM t WHERE a > 4' LOOP GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'for execute % %', n, FOUND; END LOOP;
  x := fails(1); r := ROW(1, 2); GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'assignments %', n;
  OPEN c; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'open %', n;
  MOVE FORWARD 2 FROM c; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'move % %', n, FOUND;
  FETCH c INTO x; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'fetch % %', n, FOUND;
  CLOSE c; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'close %', n;
  UPDATE t SET b = b WHERE a < 3; CALL fails_too(1); GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'call % %', n, FOUND;
  UPDATE t SET b = b WHERE a < 0; UPDATE t SET b = b WHERE a < 3;
  SET LOCAL application_name = 'x'; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'set % %', n, FOUND;
END $$;
DO $$ DECLARE n integer; BEGIN
  UPDATE t SET b = b WHERE a < 0; TRUNCATE t; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'truncate % %', n, FOUND;
END $$;
INSERT INTO t SELECT i, 'b' || i FROM generate_series(1, 5) AS i;
DO $$ DECLARE n integer; BEGIN
  UPDATE t SET b = b WHERE a < 3; TRUNCATE t; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'truncate % %', n, FOUND;
END $$;
-- expressions with subqueries are run as queries: ROW_COUNT is 1, FOUND stays
INSERT INTO t SELECT i, 'b' || i FROM generate_series(1, 5) AS i;
CREATE FUNCTION counts(OUT n text) LANGUAGE plpgsql AS $$
DECLARE i integer; x integer; r record; arr integer[] := '{1,2}';
  early integer := (SELECT max(a) FROM t);
BEGIN
  GET DIAGNOSTICS i = ROW_COUNT; n := i;
  UPDATE t SET b = b; x := (SELECT max(a) FROM t); GET DIAGNOSTICS i = ROW_COUNT; n := n || ' assign ' || i;
  UPDATE t SET b = b; x := x + 1; GET DIAGNOSTICS i = ROW_COUNT; n := n || ' plain ' || i;
  UPDATE t SET b = b; IF EXISTS (SELECT FROM t WHERE a = 1) THEN GET DIAGNOSTICS i = ROW_COUNT; n := n || ' if ' || i; END IF;
  UPDATE t SET b = b; IF x IN (SELECT a FROM t) THEN NULL; ELSE GET DIAGNOSTICS i = ROW_COUNT; n := n || ' in ' || i; END IF;
  UPDATE t SET b = b; arr[(SELECT min(a) FROM t)] := 5; GET DIAGNOSTICS i = ROW_COUNT; n := n || ' element ' || i;
  UPDATE t SET b = b; FOR k IN 1 .. (SELECT 0) LOOP NULL; END LOOP; GET DIAGNOSTICS i = ROW_COUNT; n := n || ' for ' || i;
  UPDATE t SET b = b; FOREACH x IN ARRAY ARRAY(SELECT a FROM t WHERE a = 0) LOOP NULL; END LOOP; GET DIAGNOSTICS i = ROW_COUNT; n := n || ' foreach ' || i;
  UPDATE t SET b = b; r := (SELECT ROW(a, b) FROM t WHERE a = 1); GET DIAGNOSTICS i = ROW_COUNT; n := n || ' row ' || i;
  UPDATE t SET b = b; r := ROW(1, (SELECT 2)); GET DIAGNOSTICS i = ROW_COUNT; n := n || ' field ' || i;
  UPDATE t SET b = b; RAISE NOTICE '%', (SELECT 1); GET DIAGNOSTICS i = ROW_COUNT; n := n || ' raise ' || i || FOUND;
  UPDATE t SET b = b; LOOP EXIT WHEN (SELECT true); END LOOP; GET DIAGNOSTICS i = ROW_COUNT; n := n || ' exit ' || i;
  UPDATE t SET b = b; WHILE (SELECT false) LOOP NULL; END LOOP; GET DIAGNOSTICS i = ROW_COUNT; n := n || ' while ' || i;
  UPDATE t SET b = b; BEGIN x := (SELECT 1 / 0); EXCEPTION WHEN OTHERS THEN GET DIAGNOSTICS i = ROW_COUNT; n := n || ' fails ' || i; END;
END $$;
SELECT counts();
-- each call begins with none; a trigger's statements are its own
CREATE FUNCTION inner_one() RETURNS integer LANGUAGE plpgsql AS $$ DECLARE n integer; BEGIN
  GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'inner % %', n, FOUND; UPDATE t SET b = b WHERE a = 1; RETURN n; END $$;
DO $$ DECLARE n integer; x integer; BEGIN
  UPDATE t SET b = b; x := inner_one(); GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% %', n, FOUND;
  PERFORM inner_one() FROM t WHERE a < 3; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% %', n, FOUND;
END $$;
