CREATE TABLE t1 (a integer, b text);
CREATE TABLE t2 (a integer, b text);
CREATE FUNCTION fill(tab text, n integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE c bigint; total bigint;
BEGIN
  EXECUTE format('INSERT INTO %I SELECT i, %L || i FROM generate_series(1, $1) AS g(i)', tab, 'row ') USING n;
  GET DIAGNOSTICS c = ROW_COUNT;
  EXECUTE 'SELECT count(*) FROM ' || quote_ident(tab) INTO total;
  RETURN c * 100 + total;
END $$;
SELECT fill('t1', 3), fill('t2', 4);
SELECT * FROM t1 ORDER BY a;
CREATE FUNCTION lookup(tab text, k integer) RETURNS text AS $$
DECLARE v text;
BEGIN
  EXECUTE format('SELECT b FROM %I WHERE a = $1', tab) INTO STRICT v USING k;
  RETURN v;
END $$ LANGUAGE plpgsql;
SELECT lookup('t1', 2);
SELECT lookup('t1', 99);
SELECT lookup('nowhere', 1);
DO $$ DECLARE r record; BEGIN
  FOR r IN EXECUTE 'SELECT a, b FROM t2 WHERE a > $1 ORDER BY a' USING 2 LOOP
    RAISE NOTICE '% %', r.a, r.b;
  END LOOP;
END $$;
DO $$ DECLARE r record; n int := 0; BEGIN
  EXECUTE 'SELECT max(a) AS m, count(*) AS c FROM t1' INTO r;
  n := r.m + r.c;
  RAISE NOTICE '%', n;
END $$;
DO $$ BEGIN EXECUTE NULL; END $$;
DO $$ BEGIN EXECUTE 'SELEC 1'; END $$;
CREATE FUNCTION rows_of(tab text) RETURNS TABLE (x integer, y text) AS $$
BEGIN RETURN QUERY EXECUTE format('SELECT a, b FROM %I ORDER BY a', tab); END $$ LANGUAGE plpgsql;
SELECT * FROM rows_of('t2') ORDER BY x;
