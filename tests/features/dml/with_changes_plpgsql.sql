CREATE TABLE queue (id integer PRIMARY KEY, job text);
CREATE TABLE done (id integer PRIMARY KEY, job text, worker integer);
INSERT INTO queue SELECT g, 'job ' || g FROM generate_series(1, 6) AS g;
CREATE FUNCTION take(w integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE j text; BEGIN
  WITH next AS (DELETE FROM queue WHERE id = (SELECT min(id) FROM queue) RETURNING *), kept AS (INSERT INTO done SELECT id, job, w FROM next)
  SELECT job INTO j FROM next;
  IF NOT FOUND THEN RETURN 'nothing'; END IF;
  RETURN j;
END $$;
SELECT take(1);
SELECT take(2);
SELECT * FROM done ORDER BY id;
CREATE FUNCTION drain() RETURNS SETOF integer LANGUAGE plpgsql AS $$
DECLARE r record; BEGIN
  FOR r IN WITH gone AS (DELETE FROM queue RETURNING id) SELECT id FROM gone ORDER BY id LOOP
    IF r.id % 2 = 0 THEN RETURN NEXT r.id; END IF;
  END LOOP;
  RETURN QUERY WITH gone AS (DELETE FROM done RETURNING id) SELECT id + 100 FROM gone ORDER BY id;
END $$;
SELECT * FROM drain();
SELECT count(*) FROM queue;
SELECT count(*) FROM done;
SELECT take(3);
DO $$ DECLARE n integer; BEGIN
  WITH i AS (INSERT INTO queue VALUES (1, 'a'), (2, 'b') RETURNING id) UPDATE done SET worker = 0; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'rows %', n;
  PERFORM 1 FROM queue; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE 'rows %', n;
  EXECUTE 'WITH d AS (DELETE FROM queue WHERE id = $1 RETURNING job) SELECT count(*) FROM d' INTO n USING 1; RAISE NOTICE 'deleted %', n;
END $$;
SELECT * FROM queue;
CREATE FUNCTION add_all(n integer) RETURNS bigint LANGUAGE sql AS $$ WITH i AS (INSERT INTO queue SELECT g, 's' FROM generate_series(10, 9 + n) AS g RETURNING id) SELECT count(*) FROM i $$;
SELECT add_all(4);
SELECT count(*) FROM queue;
