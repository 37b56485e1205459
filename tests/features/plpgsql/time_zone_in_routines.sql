-- Routines run in their caller's time zone, unless they set one.
CREATE FUNCTION shown(at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN at::text || ' ' || at::date || ' ' || to_char(at, 'HH24:MI TZ');
END $$;
CREATE FUNCTION noon() RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := '2024-07-01 12:00';
BEGIN
  RETURN at;
END $$;
CREATE FUNCTION tokyo_noon() RETURNS text LANGUAGE plpgsql SET TimeZone = 'Asia/Tokyo' AS $$
DECLARE
  at timestamptz := '2024-07-01 12:00';
BEGIN
  RETURN shown(at) || ' ' || current_setting('TimeZone');
END $$;
CREATE FUNCTION utc_noon() RETURNS text LANGUAGE sql SET TimeZone TO 'UTC' AS $$ SELECT shown('2024-07-01 12:00') || ' ' || current_setting('TimeZone') $$;
SELECT shown('2024-07-01 22:30+00'), noon();
SET TimeZone = 'Europe/Berlin';
SELECT shown('2024-07-01 22:30+00'), noon(), tokyo_noon(), utc_noon();
SELECT noon(), tokyo_noon(), noon();
SET TimeZone = 'America/New_York';
SELECT tokyo_noon(), utc_noon(), shown('2024-07-01 22:30+00');
CREATE TABLE logged (id serial PRIMARY KEY, what text, at timestamptz, local timestamp);
CREATE PROCEDURE note(what text, zone text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('TimeZone', zone, true);
  INSERT INTO logged (what, at, local) VALUES (what, '2024-07-01 22:30+00', timestamptz '2024-07-01 22:30+00');
  RAISE NOTICE '% %', what, timestamptz '2024-07-01 22:30+00';
END $$;
CALL note('tokyo', 'Asia/Tokyo');
CALL note('utc', 'UTC');
CALL note('bad', 'Nowhere');
SELECT what, at, local FROM logged ORDER BY id;
SHOW TimeZone;
DO $$
BEGIN
  SET LOCAL TimeZone = 'Asia/Kolkata';
  RAISE NOTICE '%', timestamptz '2024-07-01 22:30+00';
  EXECUTE 'INSERT INTO logged (what, at) VALUES (''kolkata'', ''2024-07-01 12:00'')';
  SET LOCAL TIME ZONE 'Asia/Tokyo';
  EXECUTE 'INSERT INTO logged (what, at) VALUES (''tokyo'', ''2024-07-01 12:00'')';
  RAISE NOTICE '%', current_setting('timezone');
END $$;
SELECT what, at FROM logged ORDER BY id;
CREATE PROCEDURE two_transactions() LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL TimeZone = 'Asia/Tokyo';
  RAISE NOTICE '%', timestamptz '2024-07-01 22:30+00';
  COMMIT;
  RAISE NOTICE '%', timestamptz '2024-07-01 22:30+00';
  SET TimeZone = 'Europe/Berlin';
  COMMIT;
  RAISE NOTICE '%', timestamptz '2024-07-01 22:30+00';
END $$;
CALL two_transactions();
SHOW TimeZone;
CREATE FUNCTION wrong_zone() RETURNS int LANGUAGE sql SET TimeZone = 'Nowhere' AS $$ SELECT 1 $$;
CREATE VIEW shown_rows AS SELECT what, at::text AS at, at::date AS day FROM logged;
SELECT * FROM shown_rows ORDER BY what, at;
SET TimeZone = 'Asia/Tokyo';
SELECT * FROM shown_rows ORDER BY what, at;
CREATE TABLE kept AS SELECT what, at::text AS at, '2024-07-01 12:00'::timestamptz AS noon FROM logged;
SELECT * FROM kept ORDER BY what, at;
ALTER TABLE logged ALTER COLUMN local TYPE timestamptz;
SELECT what, local FROM logged ORDER BY id;
CREATE FUNCTION stamped() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.what := NEW.what || ' ' || NEW.at;
  RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT ON logged FOR EACH ROW EXECUTE FUNCTION stamped();
INSERT INTO logged (what, at) VALUES ('trigger', '2024-07-01 12:00') RETURNING what, at;
