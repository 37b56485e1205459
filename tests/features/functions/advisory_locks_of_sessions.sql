-- Advisory locks that a session holds until it releases them or ends.
SELECT pg_try_advisory_lock(7), pg_try_advisory_lock(7), pg_try_advisory_lock(1, 2), pg_try_advisory_lock_shared(8);
SELECT pg_advisory_lock(9);
SELECT pg_advisory_unlock(7), pg_advisory_unlock(7), pg_advisory_unlock(7);
SELECT pg_advisory_unlock(8);
SELECT pg_advisory_unlock_shared(8), pg_advisory_unlock(1, 2), pg_advisory_unlock(2, 1);
SELECT pg_advisory_xact_lock(9), pg_try_advisory_xact_lock_shared(9);
SELECT pg_advisory_unlock_all();
SELECT pg_advisory_unlock(9);
CREATE TABLE migration (version integer PRIMARY KEY);
CREATE PROCEDURE migrate(v integer) LANGUAGE plpgsql AS $$
BEGIN
  IF NOT pg_try_advisory_lock(hashtext('migrations')) THEN
    RAISE EXCEPTION 'another migration runs';
  END IF;
  LOCK TABLE migration IN EXCLUSIVE MODE;
  INSERT INTO migration VALUES (v) ON CONFLICT DO NOTHING;
  NOTIFY migrations, 'done';
  PERFORM pg_advisory_unlock(hashtext('migrations'));
END $$;
CALL migrate(1);
CALL migrate(1);
SELECT * FROM migration;
DO $$ BEGIN LOCK TABLE nothing; END $$;
DO $$ BEGIN EXECUTE 'LOCK TABLE migration IN SHARE MODE'; END $$;
