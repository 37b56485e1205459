-- CREATE TEMP TABLE in routines: ON COMMIT DROP and DROP in those that run again and again, and what stays in the session.
CREATE TABLE item (id integer PRIMARY KEY, kind text, amount numeric(10,2));
INSERT INTO item SELECT g, CASE WHEN g % 3 = 0 THEN 'a' ELSE 'b' END, g * 1.25 FROM generate_series(1, 10) g;
CREATE FUNCTION totals() RETURNS TABLE (kind text, n bigint, total numeric) LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMP TABLE tmp_totals (kind text PRIMARY KEY, n bigint NOT NULL DEFAULT 0, total numeric(12,2)) ON COMMIT DROP;
  INSERT INTO tmp_totals SELECT i.kind, count(*), sum(i.amount) FROM item i GROUP BY i.kind;
  UPDATE tmp_totals t SET total = t.total + 100 WHERE t.kind = 'a';
  RETURN QUERY SELECT t.kind, t.n, t.total::numeric FROM tmp_totals t ORDER BY t.kind;
END $$;
SELECT * FROM totals();
SELECT * FROM totals();
SELECT * FROM tmp_totals;
-- twice in one transaction
SELECT count(*) FROM totals() UNION ALL SELECT count(*) FROM totals();
-- CREATE TABLE AS, loops, variables, dropped by the routine
CREATE FUNCTION biggest(how_many integer, OUT ids integer[], OUT total numeric) LANGUAGE plpgsql AS $$
DECLARE r record; total_of numeric := 0;
BEGIN
  DROP TABLE IF EXISTS pick;
  CREATE TEMP TABLE pick AS SELECT id, amount FROM item ORDER BY amount DESC LIMIT how_many;
  CREATE INDEX ON pick (id);
  FOR r IN SELECT id, amount FROM pick ORDER BY id LOOP
    ids := ids || r.id;
    total_of := total_of + r.amount * r.id;
  END LOOP;
  total := total_of;
  DROP TABLE pick;
END $$;
SELECT * FROM biggest(3);
SELECT * FROM biggest(2);
-- stays in the session
CREATE PROCEDURE remember(what text) LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMP TABLE IF NOT EXISTS memory (id serial, what text);
  INSERT INTO memory (what) VALUES (remember.what);
END $$;
CALL remember('one');
CALL remember('two');
SELECT * FROM memory ORDER BY id;
CREATE FUNCTION recall() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM memory); END $$;
SELECT recall();
CALL remember('three');
SELECT recall();
DROP TABLE memory;
SELECT recall();
-- rows that go when the transaction commits
CREATE FUNCTION seen(x integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  CREATE TEMP TABLE IF NOT EXISTS seen_once (x integer) ON COMMIT DELETE ROWS;
  INSERT INTO seen_once VALUES (x), (x + 1);
  SELECT count(*) INTO n FROM seen_once;
  RETURN n;
END $$;
SELECT seen(1);
SELECT seen(2);
SELECT count(*) FROM seen_once;
-- by EXECUTE
CREATE FUNCTION dynamic(name text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE n integer;
BEGIN
  EXECUTE format('CREATE TEMP TABLE %I (a integer) ON COMMIT DROP', name);
  EXECUTE format('INSERT INTO %I SELECT generate_series(1, 5)', name);
  EXECUTE format('SELECT sum(a) FROM %I', name) INTO n;
  RETURN n;
END $$;
SELECT dynamic('first'), dynamic('Second');
SELECT dynamic('first');
-- errors take it back
DO $$ BEGIN
  BEGIN
    CREATE TEMP TABLE undone (a integer);
    INSERT INTO undone VALUES (1);
    RAISE EXCEPTION 'no';
  EXCEPTION WHEN raise_exception THEN RAISE NOTICE 'caught';
  END;
  BEGIN
    INSERT INTO undone VALUES (2);
  EXCEPTION WHEN undefined_table THEN RAISE NOTICE '%', SQLERRM;
  END;
  CREATE TEMP TABLE undone (b text) ON COMMIT DROP;
  INSERT INTO undone VALUES ('again');
  RAISE NOTICE '%', (SELECT b FROM undone);
END $$;
SELECT * FROM undone;
-- with permanent changes around it
CREATE PROCEDURE raise_prices(percent numeric) LANGUAGE plpgsql AS $$
DECLARE changed integer;
BEGIN
  CREATE TEMP TABLE change ON COMMIT DROP AS SELECT id, amount * (1 + percent / 100) AS amount FROM item WHERE kind = 'a';
  UPDATE item SET amount = c.amount FROM change c WHERE c.id = item.id;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF EXISTS (SELECT 1 FROM change WHERE amount > 1000) THEN RAISE EXCEPTION 'too much'; END IF;
  RAISE NOTICE 'changed %', changed;
END $$;
CALL raise_prices(10);
CALL raise_prices(100000);
CALL raise_prices(0);
SELECT id, amount FROM item WHERE kind = 'a' ORDER BY id;
TRUNCATE item;
DO $$ BEGIN
  CREATE TEMP TABLE some (a integer) ON COMMIT DROP;
  INSERT INTO some VALUES (1);
  TRUNCATE some;
  RAISE NOTICE '%', (SELECT count(*) FROM some);
END $$;
-- COMMIT drops it, too
DO $$ BEGIN
  CREATE TEMP TABLE until_commit (a integer) ON COMMIT DROP;
  INSERT INTO item VALUES (1, 'c', 1);
  COMMIT;
  CREATE TEMP TABLE until_commit (a integer) ON COMMIT DROP;
  INSERT INTO until_commit VALUES (1);
  ROLLBACK;
  CREATE TEMP TABLE until_commit (a integer) ON COMMIT DROP;
  RAISE NOTICE '%', (SELECT count(*) FROM until_commit);
END $$;
SELECT * FROM item;
