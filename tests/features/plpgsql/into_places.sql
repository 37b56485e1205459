CREATE TABLE t (a integer PRIMARY KEY, b text);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
DO $$ DECLARE x integer; y text; n integer; BEGIN
  SELECT INTO x, y a, b FROM t WHERE a = 1; RAISE NOTICE '% %', x, y;
  SELECT a, b INTO x, y FROM t WHERE a = 2; RAISE NOTICE '% %', x, y;
  SELECT a, b FROM t WHERE a = 1 INTO x, y; RAISE NOTICE '% %', x, y;
  SELECT a INTO STRICT x FROM t WHERE a = 2; RAISE NOTICE '%', x;
  SELECT a INTO x FROM t WHERE a = 99; RAISE NOTICE '% %', x, FOUND;
  INSERT INTO t VALUES (3, 'z') RETURNING a, b INTO x, y; RAISE NOTICE '% %', x, y;
  UPDATE t SET b = b || '!' WHERE a = 3 RETURNING b INTO y; RAISE NOTICE '%', y;
  DELETE FROM t WHERE a = 3 RETURNING a INTO n; RAISE NOTICE '% %', n, FOUND;
  WITH w AS (SELECT max(a) AS m FROM t) SELECT m INTO n FROM w; RAISE NOTICE '%', n;
END $$;
DO $$ DECLARE x integer; BEGIN SELECT a INTO STRICT x FROM t; END $$;
DO $$ DECLARE x integer; BEGIN SELECT a INTO STRICT x FROM t WHERE a > 50; END $$;
DO $$ BEGIN SELECT 1; END $$;
DO $$ DECLARE x integer; BEGIN UPDATE t SET b = '' RETURNING a INTO x; END $$;
