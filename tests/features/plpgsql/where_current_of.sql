CREATE TABLE items (id integer PRIMARY KEY, name text, quantity integer);
CREATE TABLE plain (v integer, s text);
CREATE TABLE log (line text);
INSERT INTO items SELECT g, 'item ' || g, g * 10 FROM generate_series(1, 6) g;
INSERT INTO plain VALUES (1, 'a'), (1, 'a'), (2, 'b');
-- a bound cursor, fetched
CREATE PROCEDURE halve() LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT * FROM items WHERE quantity > 20 FOR UPDATE; r items%ROWTYPE;
BEGIN
  OPEN c;
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    UPDATE items SET quantity = r.quantity / 2 WHERE CURRENT OF c;
    IF r.id = 5 THEN DELETE FROM items WHERE CURRENT OF c; END IF;
  END LOOP;
  CLOSE c;
END $$;
CALL halve();
SELECT * FROM items ORDER BY id;
-- a loop over it
DO $$
DECLARE c CURSOR (least integer) FOR SELECT id, quantity FROM items WHERE quantity >= least FOR UPDATE; n integer; m text;
BEGIN
  FOR r IN c(20) LOOP
    UPDATE items SET name = name || '!', quantity = quantity + 1 WHERE CURRENT OF c RETURNING quantity, name INTO n, m;
    GET DIAGNOSTICS n = ROW_COUNT;
    RAISE NOTICE '% % % %', r.id, n, m, FOUND;
  END LOOP;
END $$;
SELECT * FROM items ORDER BY id;
-- a refcursor, fetched as records and values, and twice at one row
DO $$
DECLARE c refcursor; r record; a integer; b text;
BEGIN
  OPEN c FOR SELECT id, name FROM items WHERE id < 4 ORDER BY id FOR UPDATE;
  FETCH c INTO r;
  RAISE NOTICE '%', r;
  UPDATE items SET quantity = 1 WHERE CURRENT OF c;
  UPDATE items SET quantity = quantity + 1 WHERE CURRENT OF c;
  FETCH c INTO a, b;
  RAISE NOTICE '% %', a, b;
  DELETE FROM items WHERE CURRENT OF c;
  RAISE NOTICE 'found %', FOUND;
  UPDATE items SET quantity = 0 WHERE CURRENT OF c;
  RAISE NOTICE 'found %', FOUND;
  MOVE c;
  UPDATE items SET name = 'moved' WHERE CURRENT OF c;
  CLOSE c;
END $$;
SELECT * FROM items ORDER BY id;
-- rows without a key
DO $$
DECLARE c CURSOR FOR SELECT v FROM plain; x integer;
BEGIN
  OPEN c;
  FETCH c INTO x;
  UPDATE plain SET s = 'first' WHERE CURRENT OF c;
  FETCH c INTO x;
  DELETE FROM plain WHERE CURRENT OF c;
  CLOSE c;
END $$;
SELECT * FROM plain ORDER BY v, s;
-- a join: the rows of either table
INSERT INTO plain VALUES (3, 'third'), (6, 'sixth');
DO $$
DECLARE c CURSOR FOR SELECT i.id, p.s FROM items i JOIN plain p ON p.v = i.id FOR UPDATE;
BEGIN
  FOR r IN c LOOP
    UPDATE items SET name = r.s WHERE CURRENT OF c;
    DELETE FROM plain WHERE CURRENT OF c;
  END LOOP;
END $$;
SELECT * FROM items ORDER BY id;
SELECT * FROM plain ORDER BY v, s;
DO $$
DECLARE c CURSOR FOR SELECT i.id FROM items i JOIN items j ON j.id = i.id FOR UPDATE OF i;
BEGIN
  FOR r IN c LOOP UPDATE items SET quantity = -quantity WHERE CURRENT OF c; END LOOP;
END $$;
SELECT * FROM items ORDER BY id;
-- what has no row to change
DO $$
DECLARE c CURSOR FOR SELECT * FROM items FOR UPDATE;
BEGIN OPEN c; UPDATE items SET quantity = 0 WHERE CURRENT OF c; END $$;
DO $$
DECLARE c CURSOR FOR SELECT * FROM items FOR UPDATE;
BEGIN OPEN c; MOVE FORWARD ALL IN c; UPDATE items SET quantity = 0 WHERE CURRENT OF c; END $$;
DO $$
DECLARE c CURSOR FOR SELECT count(*) AS n FROM items;
BEGIN FOR r IN c LOOP DELETE FROM items WHERE CURRENT OF c; END LOOP; END $$;
DO $$
DECLARE c CURSOR FOR SELECT * FROM items; x items;
BEGIN OPEN c; FETCH c INTO x; DELETE FROM plain WHERE CURRENT OF c; END $$;
DO $$
DECLARE c CURSOR FOR SELECT i.* FROM items i, plain p FOR UPDATE OF p; x items;
BEGIN OPEN c; FETCH c INTO x; DELETE FROM items WHERE CURRENT OF c; END $$;
DO $$
DECLARE c CURSOR FOR SELECT i.* FROM items i JOIN items j ON i.id = j.id FOR UPDATE; x items;
BEGIN OPEN c; FETCH c INTO x; DELETE FROM items WHERE CURRENT OF c; END $$;
DO $$
BEGIN DELETE FROM items WHERE CURRENT OF nowhere; END $$;
DO $$
DECLARE c CURSOR FOR SELECT * FROM items FOR UPDATE; x items;
BEGIN
  OPEN c; FETCH c INTO x; CLOSE c;
  DELETE FROM items WHERE CURRENT OF c;
EXCEPTION WHEN invalid_cursor_name THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END $$;
SELECT count(*) FROM items;
-- another routine opens it
CREATE FUNCTION open_items(low integer) RETURNS refcursor LANGUAGE plpgsql AS $$
DECLARE c refcursor;
BEGIN OPEN c FOR SELECT * FROM items WHERE id >= low FOR UPDATE; RETURN c; END $$;
CREATE FUNCTION close_out() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE c refcursor := open_items(4); r record; n integer := 0;
BEGIN
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    n := n + r.quantity;
    UPDATE items SET quantity = 0 WHERE CURRENT OF c;
  END LOOP;
  CLOSE c;
  RETURN n;
END $$;
SELECT close_out();
SELECT * FROM items ORDER BY id;
-- triggers and undo
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO log VALUES (TG_OP || ' ' || OLD.id || ' ' || OLD.quantity); RETURN OLD; END $$;
CREATE TRIGGER note AFTER DELETE OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION note();
DO $$
DECLARE c CURSOR FOR SELECT * FROM items ORDER BY id FOR UPDATE;
BEGIN
  FOR r IN c LOOP
    BEGIN
      UPDATE items SET quantity = quantity + 7 WHERE CURRENT OF c;
      IF r.id % 2 = 0 THEN RAISE EXCEPTION 'even'; END IF;
    EXCEPTION WHEN raise_exception THEN
      DELETE FROM items WHERE CURRENT OF c;
    END;
  END LOOP;
END $$;
SELECT * FROM items ORDER BY id;
SELECT * FROM log ORDER BY line;
