CREATE TABLE t (a integer);
INSERT INTO t VALUES (3), (4);
DO $$ DECLARE n integer := (SELECT max(a) FROM t); b boolean; BEGIN
  IF EXISTS (SELECT 1 FROM t WHERE a = n) THEN RAISE NOTICE 'exists %', n; END IF;
  IF n IN (SELECT a FROM t) AND NOT n BETWEEN 1 AND 2 THEN RAISE NOTICE 'in'; END IF;
  n := CASE WHEN n > 3 THEN n * 2 ELSE 0 END + (SELECT count(*) FROM t);
  RAISE NOTICE '%', n;
  b := n > 5 OR NULL; RAISE NOTICE '%', b;
  b := NULL AND false; RAISE NOTICE '%', b;
  IF NULL THEN RAISE NOTICE 'no'; ELSE RAISE NOTICE 'else'; END IF;
  n := length('abc') + coalesce(NULL, 7) - nullif(1, 1); RAISE NOTICE '%', n;
  WHILE (SELECT count(*) FROM t) < 5 LOOP INSERT INTO t VALUES (0); END LOOP;
  RAISE NOTICE '%', (SELECT count(*) FROM t);
END $$;
