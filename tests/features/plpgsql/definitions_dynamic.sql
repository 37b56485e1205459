-- Definitions by EXECUTE: helpers that make tables from names.
CREATE FUNCTION make_part(name text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  EXECUTE format('CREATE TABLE IF NOT EXISTS %I (id integer PRIMARY KEY, v text NOT NULL DEFAULT %L)', name, 'none');
  EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %I (v)', name || '_v', name);
  EXECUTE format('INSERT INTO %I (id) VALUES ($1), ($2)', name) USING 1, 2;
END $$;
SELECT make_part('part_1');
SELECT make_part('Part 2');
SELECT * FROM part_1 ORDER BY id;
SELECT * FROM "Part 2" ORDER BY id;
SELECT make_part('part_1');
SELECT count(*) FROM part_1;
-- a statement that names the table is planned when it runs
DO $$ DECLARE n bigint; BEGIN
  EXECUTE 'CREATE TABLE fresh (a integer)';
  INSERT INTO fresh VALUES (1), (2);
  SELECT count(*) INTO n FROM fresh;
  RAISE NOTICE '%', n;
  EXECUTE 'DROP TABLE fresh';
  BEGIN
    INSERT INTO fresh VALUES (3);
  EXCEPTION WHEN undefined_table THEN RAISE NOTICE '%', SQLERRM;
  END;
END $$;
SELECT * FROM fresh;
-- several in a loop
DO $$ BEGIN
  FOR i IN 1..3 LOOP
    EXECUTE 'CREATE TABLE many_' || i || ' AS SELECT g AS a FROM generate_series(1, ' || i || ') g';
  END LOOP;
END $$;
SELECT (SELECT count(*) FROM many_1), (SELECT count(*) FROM many_2), (SELECT count(*) FROM many_3);
DO $$ DECLARE r record; BEGIN
  FOR r IN SELECT tablename FROM pg_tables WHERE tablename LIKE 'many%' ORDER BY 1 LOOP
    EXECUTE format('DROP TABLE %I', r.tablename);
    RAISE NOTICE 'dropped %', r.tablename;
  END LOOP;
END $$;
SELECT count(*) FROM pg_tables WHERE tablename LIKE 'many%';
-- errors
DO $$ BEGIN EXECUTE 'CREATE TABLE part_1 (a integer)'; END $$;
DO $$ BEGIN EXECUTE 'CREATE TABLE a b c'; END $$;
DO $$ BEGIN EXECUTE 'ALTER TABLE nowhere ADD COLUMN a integer'; END $$;
DO $$ BEGIN EXECUTE 'CREATE TABLE twice (a integer, a text)'; END $$;
DO $$ BEGIN EXECUTE 'CREATE TABLE wrong (a nonsense)'; END $$;
DO $$ DECLARE n integer; BEGIN EXECUTE 'CREATE TABLE other (a integer)' INTO n; END $$;
SELECT * FROM other;
-- an error behind a definition leaves nothing of it
CREATE PROCEDURE fails_late(n integer) LANGUAGE plpgsql AS $$ BEGIN
  EXECUTE 'CREATE TABLE leftover (a integer)';
  EXECUTE 'ALTER TABLE part_1 ADD COLUMN w integer';
  EXECUTE 'UPDATE part_1 SET w = 10 / $1' USING n;
END $$;
CALL fails_late(0);
SELECT * FROM leftover;
SELECT * FROM part_1 ORDER BY id;
CALL fails_late(5);
SELECT * FROM part_1 ORDER BY id;
SELECT * FROM leftover;
-- COMMIT keeps what was defined before an error
CREATE PROCEDURE in_steps() LANGUAGE plpgsql AS $$ BEGIN
  EXECUTE 'CREATE TABLE step_1 (a integer)';
  EXECUTE 'INSERT INTO step_1 VALUES (1)';
  COMMIT;
  EXECUTE 'CREATE TABLE step_2 (a integer)';
  ROLLBACK;
  EXECUTE 'CREATE TABLE step_3 (a integer)';
  EXECUTE 'INSERT INTO step_1 VALUES (2)';
  RAISE EXCEPTION 'stop';
END $$;
CALL in_steps();
SELECT * FROM step_1;
SELECT * FROM step_2;
SELECT * FROM step_3;
-- a routine that another one made
DO $$ BEGIN
  EXECUTE 'CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE sql AS ''SELECT n * 2''';
  RAISE NOTICE '%', twice(21);
END $$;
SELECT twice(4);
-- tables, rows and indexes of one name, again and again
DO $$ BEGIN
  FOR i IN 1..5 LOOP
    EXECUTE 'CREATE TABLE again (a integer PRIMARY KEY, b text)';
    EXECUTE 'INSERT INTO again SELECT g, repeat(''x'', g) FROM generate_series(1, 20) g';
    EXECUTE 'DELETE FROM again WHERE a % 2 = 0';
    EXECUTE 'DROP TABLE again';
  END LOOP;
  CREATE TABLE again (c integer);
  INSERT INTO again VALUES (1);
END $$;
SELECT * FROM again;
