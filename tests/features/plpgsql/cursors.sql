CREATE TABLE n (i integer PRIMARY KEY, t text);
INSERT INTO n SELECT i, 'n' || i FROM generate_series(1, 6) AS g(i);
CREATE FUNCTION walk() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  c CURSOR (least integer) FOR SELECT i, t FROM n WHERE i >= least ORDER BY i;
  r record;
  out text := '';
BEGIN
  OPEN c(3);
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    out := out || r.i || r.t || ' ';
  END LOOP;
  CLOSE c;
  FOR x IN c(least := 5) LOOP
    out := out || '[' || x.i || ']';
  END LOOP;
  RETURN out;
END $$;
SELECT walk();
CREATE FUNCTION directions() RETURNS text AS $$
DECLARE c SCROLL CURSOR FOR SELECT i FROM n ORDER BY i; v integer; out text := '';
BEGIN
  OPEN c;
  FETCH LAST FROM c INTO v; out := out || v;
  FETCH PRIOR FROM c INTO v; out := out || ',' || v;
  FETCH FIRST FROM c INTO v; out := out || ',' || v;
  FETCH ABSOLUTE 4 FROM c INTO v; out := out || ',' || v;
  FETCH RELATIVE -2 FROM c INTO v; out := out || ',' || v;
  FETCH ABSOLUTE -1 FROM c INTO v; out := out || ',' || v;
  FETCH NEXT FROM c INTO v; out := out || ',' || coalesce(v::text, 'null') || FOUND::text;
  MOVE FIRST FROM c;
  MOVE FORWARD 2 FROM c;
  FETCH c INTO v; out := out || ',' || v;
  CLOSE c;
  RETURN out;
END $$ LANGUAGE plpgsql;
SELECT directions();
CREATE FUNCTION refs(k integer) RETURNS integer AS $$
DECLARE c refcursor; a integer; b integer;
BEGIN
  OPEN c FOR SELECT i FROM n WHERE i > k ORDER BY i;
  FETCH c INTO a;
  CLOSE c;
  OPEN c FOR EXECUTE 'SELECT i * 10 FROM n WHERE i > $1 ORDER BY i' USING k;
  FETCH c INTO b;
  CLOSE c;
  RETURN a + b;
END $$ LANGUAGE plpgsql;
SELECT refs(2);
DO $$ DECLARE c refcursor; v int; BEGIN FETCH c INTO v; END $$;
DO $$ DECLARE c CURSOR FOR SELECT 1; BEGIN OPEN c; OPEN c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT 1; v int; BEGIN OPEN c; CLOSE c; FETCH c INTO v; END $$;
DO $$ DECLARE c NO SCROLL CURSOR FOR SELECT i FROM n ORDER BY i; v int; BEGIN OPEN c; FETCH c INTO v; FETCH c INTO v; FETCH PRIOR FROM c INTO v; END $$;
