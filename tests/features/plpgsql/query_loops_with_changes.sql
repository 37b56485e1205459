CREATE TABLE item (id integer PRIMARY KEY, qty integer, state text DEFAULT 'new');
INSERT INTO item (id, qty) SELECT i, i * 10 FROM generate_series(1, 6) AS i;
CREATE FUNCTION ship(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE r record; left_over integer := most; n integer := 0;
BEGIN
  FOR r IN SELECT id, qty FROM item WHERE state = 'new' ORDER BY qty DESC LOOP
    CONTINUE WHEN r.qty > left_over;
    UPDATE item SET state = 'sent' WHERE id = r.id;
    left_over := left_over - r.qty;
    n := n + 1;
    EXIT WHEN left_over = 0;
  END LOOP;
  RAISE NOTICE 'sent %, left %', n, left_over;
  RETURN n;
END $$;
SELECT ship(95);
SELECT id, state FROM item ORDER BY id;
SELECT ship(95);
CREATE PROCEDURE split(which integer) LANGUAGE plpgsql AS $$
DECLARE old item%ROWTYPE;
BEGIN
  SELECT * INTO STRICT old FROM item WHERE id = which;
  INSERT INTO item VALUES (which + 100, old.qty / 2, old.state), (which + 200, old.qty - old.qty / 2, DEFAULT);
  DELETE FROM item WHERE id = which;
END $$;
CALL split(1);
CALL split(1);
SELECT * FROM item WHERE id > 6 ORDER BY id;
DO $$ DECLARE n integer; BEGIN DELETE FROM item WHERE state = 'sent'; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% gone', n; END $$;
SELECT count(*) FROM item;
