CREATE TABLE pc (id integer PRIMARY KEY, batch integer);
CREATE PROCEDURE load_batches(n integer, size integer, INOUT done integer DEFAULT 0) LANGUAGE plpgsql AS $$
BEGIN
  FOR b IN 1..n LOOP
    FOR i IN 1..size LOOP INSERT INTO pc VALUES ((b - 1) * size + i, b); END LOOP;
    IF b % 2 = 1 THEN COMMIT; done := done + size; ELSE ROLLBACK; END IF;
  END LOOP;
END $$;
CALL load_batches(4, 2);
SELECT batch, count(*), min(id) FROM pc GROUP BY batch ORDER BY batch;
CALL load_batches(1, 2);
SELECT count(*) FROM pc;
CALL load_batches(0, 5, 7);
CREATE PROCEDURE fails_late() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO pc VALUES (100, 100); COMMIT; INSERT INTO pc VALUES (101, 101); RAISE EXCEPTION 'late'; END $$;
CALL fails_late();
SELECT id FROM pc WHERE id >= 100;
CREATE PROCEDURE inner_commit() LANGUAGE plpgsql AS $$ BEGIN BEGIN INSERT INTO pc VALUES (200, 200); COMMIT; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END; END $$;
CALL inner_commit();
SELECT count(*) FROM pc WHERE id = 200;
CREATE PROCEDURE outer_p() LANGUAGE plpgsql AS $$ DECLARE d integer := 1; BEGIN CALL load_batches(0, 1, d); RAISE NOTICE 'd = %', d; DELETE FROM pc WHERE id = 100; COMMIT; END $$;
CALL outer_p();
SELECT count(*) FROM pc;
CREATE FUNCTION f_commit() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN COMMIT; RETURN 1; END $$;
SELECT f_commit();
CALL f_commit();
SELECT load_batches(1, 1);
CALL nothing();
CALL load_batches('x', 1);
DO $$ BEGIN INSERT INTO pc VALUES (300, 300); COMMIT; INSERT INTO pc VALUES (301, 301); ROLLBACK; END $$;
SELECT id FROM pc WHERE id >= 300 ORDER BY id;
