CREATE TABLE t (a integer, b text);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z');
DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM t ORDER BY a DESC LOOP RAISE NOTICE '%: %', r.a, r.b; END LOOP; RAISE NOTICE '%', FOUND; END $$;
DO $$ DECLARE x integer; y text; BEGIN FOR x, y IN SELECT a, b FROM t ORDER BY a LOOP RAISE NOTICE '% %', x, y; END LOOP; END $$;
DO $$ DECLARE r t%ROWTYPE; BEGIN FOR r IN SELECT * FROM t WHERE a > 5 LOOP RAISE NOTICE '%', r; END LOOP; RAISE NOTICE '%', FOUND; END $$;
DO $$ DECLARE r record; BEGIN FOR r IN UPDATE t SET a = a * 10 RETURNING a, b LOOP RAISE NOTICE '%', r.a + 1; END LOOP; END $$;
DO $$ DECLARE r record; s integer := 0; BEGIN FOR r IN DELETE FROM t WHERE a > 10 RETURNING * LOOP s := s + r.a; END LOOP; RAISE NOTICE '%', s; END $$;
DO $$ DECLARE r record; BEGIN FOR r IN SELECT a FROM t LOOP UPDATE t SET b = 'changed' WHERE a = r.a; END LOOP; END $$;
SELECT * FROM t;
