CREATE TABLE s (id integer PRIMARY KEY, qty integer NOT NULL DEFAULT 0, note text);
CREATE FUNCTION put(k integer, q integer) RETURNS s LANGUAGE plpgsql AS $$
DECLARE r s%ROWTYPE;
BEGIN
  UPDATE s SET qty = qty + q WHERE id = k RETURNING * INTO r;
  IF NOT FOUND THEN
    INSERT INTO s (id, qty) VALUES (k, q) RETURNING * INTO STRICT r;
  END IF;
  RETURN r;
END $$;
SELECT * FROM put(1, 5);
SELECT * FROM put(1, 7);
SELECT (put(2, 1)).qty;
CREATE FUNCTION move_all(min_qty integer) RETURNS TABLE (moved integer, left_over bigint) LANGUAGE plpgsql AS $$
BEGIN
  FOR moved IN DELETE FROM s WHERE qty >= min_qty RETURNING id LOOP
    left_over := (SELECT count(*) FROM s);
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM move_all(10);
SELECT * FROM s;
