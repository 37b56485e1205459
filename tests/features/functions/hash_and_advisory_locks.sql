SELECT n, hashtext(repeat('abcdefghij', n)), hashtext(left('abcdefghijklmnopqrstuvwxyz', n)) FROM generate_series(0, 26) n ORDER BY n;
SELECT hashtext('snö'), hashtext(NULL), hashtext('mail'), abs(hashtext('queue')) % 16;
SELECT n, hashtextextended(left('abcdefghijklmnopqrstuvwxyz', n), 0), hashtextextended(left('abcdefghijklmnopqrstuvwxyz', n), 42), hashtextextended(left('abcdefghijklmnopqrstuvwxyz', n), -7) FROM generate_series(0, 26) n ORDER BY n;
SELECT pg_try_advisory_xact_lock(1), pg_try_advisory_xact_lock(1, 2), pg_try_advisory_xact_lock_shared(3), pg_try_advisory_xact_lock(NULL);
SELECT pg_advisory_xact_lock(hashtext('mail'));
SELECT pg_advisory_xact_lock(1, 2), pg_advisory_xact_lock_shared(9000000000);
CREATE TABLE jobs (id integer PRIMARY KEY, state text);
INSERT INTO jobs SELECT g, 'ready' FROM generate_series(1, 3) g;
CREATE FUNCTION take() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE n integer;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('jobs'));
  IF NOT pg_try_advisory_xact_lock(hashtextextended('jobs', 1)) THEN RETURN NULL; END IF;
  UPDATE jobs SET state = 'running' WHERE id = (SELECT min(id) FROM jobs WHERE state = 'ready') RETURNING id INTO n;
  RETURN n;
END $$;
SELECT take();
SELECT take();
SELECT * FROM jobs ORDER BY id;
SELECT id FROM jobs WHERE pg_try_advisory_xact_lock(id) AND state = 'ready' ORDER BY id;
SELECT pg_try_advisory_xact_lock('x');
SELECT hashtext(1);
