CREATE TABLE kv (space text, key text, value text, version bigint NOT NULL, expires timestamp, PRIMARY KEY (space, key));
CREATE TABLE kv_lock (space text, key text, holder text NOT NULL, until timestamp NOT NULL, PRIMARY KEY (space, key));
CREATE PROCEDURE put(p_space text, p_key text, p_value text, p_ttl interval, p_now timestamp, p_if_version bigint, INOUT p_version bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE old kv%ROWTYPE;
BEGIN
  SELECT * INTO old FROM kv WHERE space = p_space AND key = p_key;
  IF FOUND AND old.expires < p_now THEN DELETE FROM kv WHERE space = p_space AND key = p_key; old := NULL; END IF;
  IF p_if_version IS NOT NULL AND p_if_version <> coalesce(old.version, 0) THEN
    RAISE EXCEPTION 'version conflict' USING ERRCODE = '40001', DETAIL = format('expected %s, found %s', p_if_version, coalesce(old.version, 0));
  END IF;
  p_version := coalesce(old.version, 0) + 1;
  IF old.version IS NULL THEN
    INSERT INTO kv (space, key, value, version, expires) VALUES (p_space, p_key, p_value, p_version, p_now + p_ttl);
  ELSE
    UPDATE kv SET value = p_value, version = p_version, expires = p_now + p_ttl WHERE (space, key) = (p_space, p_key);
  END IF;
END $$;
CREATE FUNCTION get(p_space text, p_key text, p_now timestamp, OUT value text, OUT version bigint, OUT remaining interval) RETURNS record LANGUAGE plpgsql AS $$
BEGIN
  SELECT kv.value, kv.version, kv.expires - p_now INTO value, version, remaining FROM kv WHERE space = p_space AND key = p_key AND (expires IS NULL OR expires >= p_now);
END $$;
CREATE FUNCTION incr(p_space text, p_key text, p_by bigint DEFAULT 1) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  LOOP
    UPDATE kv SET value = (value::bigint + p_by)::text, version = version + 1 WHERE space = p_space AND key = p_key RETURNING value::bigint INTO n;
    IF FOUND THEN RETURN n; END IF;
    BEGIN
      INSERT INTO kv VALUES (p_space, p_key, '0', 0, NULL);
    EXCEPTION WHEN unique_violation THEN NULL;
    END;
  END LOOP;
END $$;
CREATE FUNCTION acquire(p_space text, p_key text, p_holder text, p_now timestamp, p_for interval DEFAULT '30 seconds') RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE kv_lock SET holder = p_holder, until = p_now + p_for WHERE space = p_space AND key = p_key AND (holder = p_holder OR until < p_now);
  IF FOUND THEN RETURN true; END IF;
  INSERT INTO kv_lock VALUES (p_space, p_key, p_holder, p_now + p_for);
  RETURN true;
EXCEPTION WHEN unique_violation THEN
  RETURN false;
END $$;
CREATE PROCEDURE purge(p_now timestamp, INOUT p_gone text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN DELETE FROM kv WHERE expires < p_now RETURNING space, key LOOP
    p_gone := p_gone || (r.space || '.' || r.key);
  END LOOP;
  SELECT array_agg(x ORDER BY x) INTO p_gone FROM unnest(p_gone) x;
END $$;
CALL put('s', 'a', 'one', '1 hour', '2024-01-01 10:00', NULL);
CALL put('s', 'a', 'two', '1 hour', '2024-01-01 10:30', 1);
CALL put('s', 'a', 'three', NULL, '2024-01-01 10:30', 1);
CALL put('s', 'b', 'x', '90 minutes', '2024-01-01 10:30', 0);
CALL put('t', 'c', 'x', '-1 day', '2024-01-01 10:30', NULL);
CALL put('t', NULL, 'x', NULL, '2024-01-01 10:30', NULL);
SELECT * FROM get('s', 'a', '2024-01-01 11:15:30.25');
SELECT * FROM get('s', 'a', '2024-01-01 12:00');
CALL put('s', 'a', 'reborn', '1 month', '2024-01-31 12:00', 0);
SELECT incr('n', 'hits'), incr('n', 'hits', 41), incr('n', 'hits', -50);
SELECT incr('s', 'a');
SELECT incr('n', 'hits', 9223372036854775807), incr('n', 'hits', 9223372036854775807);
SELECT acquire('l', 'x', 'me', '2024-01-01'), acquire('l', 'x', 'you', '2024-01-01 00:00:30'), acquire('l', 'x', 'you', '2024-01-01 00:00:31'), acquire('l', 'x', 'me', '2024-01-01 00:00:32', p_for => '1 day');
CALL purge('2024-02-01');
SELECT * FROM kv ORDER BY 1, 2;
SELECT * FROM kv_lock;
