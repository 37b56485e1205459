CREATE TABLE t (a integer);
CREATE FUNCTION add(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (n); RETURN n; END $$;
DO $$ BEGIN PERFORM add(1); PERFORM add(a + 1) FROM t; PERFORM add(5), add(6); PERFORM pg_typeof(1); END $$;
SELECT * FROM t ORDER BY a;
CREATE FUNCTION rows(n integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..n LOOP INSERT INTO t VALUES (100 + i); RETURN NEXT i; END LOOP; END $$;
DO $$ BEGIN PERFORM rows(2); PERFORM * FROM rows(1); END $$;
SELECT count(*) FROM t WHERE a > 100;
