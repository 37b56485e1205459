CREATE TABLE d1 (id integer PRIMARY KEY, name text, "Odd Col" integer);
INSERT INTO d1 VALUES (1, 'a', 10), (2, 'o''neil', 20), (3, NULL, NULL);
CREATE FUNCTION count_where(tab text, col text, val text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM %I WHERE %I::text IS NOT DISTINCT FROM %L', tab, col, val) INTO n;
  RETURN n;
END $$;
SELECT count_where('d1', 'name', 'o''neil'), count_where('d1', 'name', NULL), count_where('d1', 'Odd Col', '20');
SELECT count_where('nothing', 'name', 'x');
SELECT count_where('d1', 'nothing', 'x');
SELECT count_where('d1; DROP TABLE d1', 'name', 'x');
CREATE FUNCTION pick(p_id integer, OUT a text, OUT b integer) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SELECT name, "Odd Col" FROM d1 WHERE id = $1' INTO a, b USING p_id;
END $$;
SELECT * FROM pick(2);
SELECT * FROM pick(99);
DO $$ DECLARE n integer; BEGIN EXECUTE 'UPDATE d1 SET "Odd Col" = coalesce("Odd Col", 0) + $1 WHERE id >= $2' USING 5, 2; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '%', n; END $$;
DO $$ DECLARE x integer; BEGIN EXECUTE 'SELECT id FROM d1 ORDER BY id' INTO STRICT x; END $$;
DO $$ DECLARE x integer; BEGIN EXECUTE 'SELECT id FROM d1 WHERE false' INTO STRICT x; END $$;
DO $$ BEGIN EXECUTE NULL; END $$;
DO $$ BEGIN EXECUTE 'SELEC 1'; END $$;
DO $$ BEGIN EXECUTE 'SELECT $1' USING 1; EXECUTE 'SELECT $2' USING 1; END $$;
DO $$ DECLARE r record; BEGIN FOR r IN EXECUTE 'SELECT * FROM d1 WHERE id < $1 ORDER BY id DESC' USING 3 LOOP RAISE NOTICE '% %', r.id, r."Odd Col"; END LOOP; END $$;
CREATE FUNCTION rows_of(q text) RETURNS SETOF d1 LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE q; END $$;
SELECT * FROM rows_of('SELECT * FROM d1 ORDER BY id DESC LIMIT 1');
DO $$ DECLARE s text; BEGIN EXECUTE 'INSERT INTO d1 VALUES ($1, $2) RETURNING upper(name)' INTO s USING 4, 'new'; RAISE NOTICE '%', s; END $$;
SELECT * FROM d1 ORDER BY id;
