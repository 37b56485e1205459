CREATE TABLE t (a integer, b text);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z');
CREATE FUNCTION f(tab text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c refcursor; r record; out text := '';
BEGIN
  OPEN c FOR EXECUTE 'SELECT a, b FROM ' || tab || ' ORDER BY a DESC';
  LOOP
    FETCH NEXT FROM c INTO r;
    EXIT WHEN NOT FOUND;
    out := out || r.a || r.b || ';';
  END LOOP;
  CLOSE c;
  RETURN out;
END $$;
SELECT f('t');
CREATE FUNCTION g() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE c SCROLL CURSOR FOR SELECT a FROM t ORDER BY a; n integer; total integer := 0;
BEGIN
  OPEN c;
  MOVE FORWARD ALL FROM c;
  GET DIAGNOSTICS n = ROW_COUNT;
  LOOP FETCH BACKWARD FROM c INTO total; EXIT WHEN NOT FOUND; n := n * 10 + total; END LOOP;
  CLOSE c;
  RETURN n;
END $$;
SELECT g();
