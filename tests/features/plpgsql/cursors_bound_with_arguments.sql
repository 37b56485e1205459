CREATE TABLE cu (id integer PRIMARY KEY, g text, v integer);
INSERT INTO cu SELECT i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END, i * 10 FROM generate_series(1, 6) AS i;
CREATE FUNCTION sum_of(p_g text, p_min integer DEFAULT 0) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  c CURSOR (gg text, mn integer) FOR SELECT v FROM cu WHERE g = gg AND v > mn ORDER BY id;
  x integer;
  total integer := 0;
BEGIN
  OPEN c(mn := p_min, gg := p_g);
  LOOP
    FETCH c INTO x;
    EXIT WHEN NOT FOUND;
    total := total + x;
  END LOOP;
  CLOSE c;
  RETURN total;
END $$;
SELECT sum_of('even'), sum_of('odd', 10), sum_of('none'), sum_of(NULL);
CREATE FUNCTION nth(n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE c SCROLL CURSOR FOR SELECT v FROM cu ORDER BY id; x integer;
BEGIN
  OPEN c;
  FETCH ABSOLUTE n FROM c INTO x;
  RETURN x;
END $$;
SELECT nth(1), nth(6), nth(7), nth(-1), nth(0), nth(-7);
CREATE FUNCTION back() RETURNS text LANGUAGE plpgsql AS $$
DECLARE c SCROLL CURSOR FOR SELECT id FROM cu ORDER BY id; x integer; r text := '';
BEGIN
  OPEN c;
  MOVE LAST FROM c;
  LOOP
    r := r || '.';
    FETCH PRIOR FROM c INTO x;
    EXIT WHEN NOT FOUND;
    r := r || x;
  END LOOP;
  RETURN r;
END $$;
SELECT back();
DO $$ DECLARE c CURSOR FOR SELECT 1; BEGIN OPEN c; OPEN c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT 1; x integer; BEGIN FETCH c INTO x; END $$;
DO $$ DECLARE c CURSOR FOR SELECT 1; BEGIN CLOSE c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT id, g FROM cu ORDER BY id; BEGIN FOR r IN c LOOP CONTINUE WHEN r.id % 3 <> 0; RAISE NOTICE '% %', r.id, r.g; END LOOP; END $$;
DO $$ DECLARE c refcursor; r record; n integer := 2; BEGIN OPEN c FOR SELECT * FROM cu WHERE id <= n ORDER BY id DESC; FETCH c INTO r; RAISE NOTICE '%', r.v; FETCH c INTO r; RAISE NOTICE '%', r.v; FETCH c INTO r; RAISE NOTICE '% %', r IS NULL, FOUND; CLOSE c; END $$;
DO $$ DECLARE c refcursor; x integer; BEGIN OPEN c FOR EXECUTE 'SELECT v FROM cu WHERE id = $1' USING 4; FETCH NEXT FROM c INTO x; RAISE NOTICE '%', x; MOVE c; RAISE NOTICE '%', FOUND; CLOSE c; END $$;
