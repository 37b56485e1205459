CREATE TABLE t (a integer PRIMARY KEY);
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE n integer := 0;
BEGIN
  INSERT INTO t VALUES (1);
  BEGIN
    INSERT INTO t VALUES (2);
    n := n + 1;
    BEGIN
      INSERT INTO t VALUES (3);
      INSERT INTO t VALUES (1);
      n := n + 100;
    EXCEPTION WHEN unique_violation THEN
      n := n + 10;
    END;
    RAISE EXCEPTION 'undo 2';
  EXCEPTION WHEN raise_exception THEN
    n := n + 1000;
  END;
  RETURN n;
END $$;
SELECT f();
SELECT * FROM t ORDER BY a;
CREATE FUNCTION g() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    RAISE EXCEPTION 'first';
  EXCEPTION WHEN OTHERS THEN
    RAISE EXCEPTION 'second after %', SQLERRM;
  END;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLERRM;
END $$;
SELECT g();
