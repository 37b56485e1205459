-- Every form of output, and every order of numbers that are read.
CREATE TABLE ds (id integer PRIMARY KEY, d date, t timestamp, z timestamptz);
INSERT INTO ds VALUES (1, '2003-02-01', '2003-02-01 04:05:06.789', '2003-02-01 04:05:06.789+00'),
  (2, '0044-03-15 BC', '0044-03-15 12:00 BC', '0044-03-15 12:00+00 BC'),
  (3, '12345-06-07', '12345-06-07 00:00', '12345-06-07 00:00+00'),
  (4, 'infinity', '-infinity', 'infinity');
SHOW datestyle;
SET datestyle = 'ISO, DMY';
SHOW datestyle;
SELECT * FROM ds ORDER BY id;
SELECT '03/04/2024'::date, date '1-2-03', '01.02.2003 10:00'::timestamp, '7/8/09 10:00+02'::timestamptz;
SET datestyle = 'SQL, MDY';
SELECT * FROM ds ORDER BY id;
SELECT '03/04/2024'::date, date '1-2-03', d::text, t::text, z::text FROM ds ORDER BY id;
SET datestyle = 'SQL, DMY';
SELECT * FROM ds ORDER BY id;
SELECT '13/04/2024'::date;
SELECT '04/13/2024'::date;
SET datestyle = 'Postgres, MDY';
SELECT * FROM ds ORDER BY id;
SET datestyle = 'Postgres, DMY';
SELECT * FROM ds ORDER BY id;
SET datestyle = 'German';
SHOW datestyle;
SELECT * FROM ds ORDER BY id;
SET datestyle = 'YMD';
SHOW datestyle;
SELECT '03-04-05'::date, '99-Jan-08'::date, 'jan 99, 08'::date;
SELECT '08-Jan-99'::date;
RESET datestyle;
SHOW datestyle;
SELECT '03/04/2024'::date;
-- What SET takes.
SET datestyle = 'foo';
SET datestyle = 'iso, sql';
SET datestyle = 'ymd, dmy';
SET datestyle = 'iso,,mdy';
SET datestyle TO iso, european;
SHOW datestyle;
SET datestyle = 'postgresql';
SHOW datestyle;
SET datestyle = 'german, mdy';
SHOW datestyle;
SET datestyle = 'default';
SHOW datestyle;
SELECT set_config('datestyle', 'SQL, DMY', false), current_setting('DateStyle');
SELECT date '2024-04-03';
-- JSON is ISO 8601 always.
SELECT to_json(d), to_jsonb(t), to_json(z) FROM ds ORDER BY id;
SELECT jsonb_build_object('d', d, 'z', z), row_to_json(ds) FROM ds WHERE id = 1;
-- In other zones, with their names.
SET timezone = 'Europe/Moscow';
SELECT z FROM ds ORDER BY id;
SET datestyle = 'Postgres';
SELECT z, t FROM ds ORDER BY id;
SET timezone = '+03:30';
SELECT z FROM ds WHERE id = 1;
RESET timezone;
-- Texts that are read when a statement runs.
SET datestyle = 'ISO, DMY';
CREATE TABLE texts (s text);
INSERT INTO texts VALUES ('01/02/2003'), ('2003-02-01');
SELECT s::date AS d, s::timestamp AS t FROM texts ORDER BY texts.s;
INSERT INTO ds SELECT 10 + row_number() OVER (ORDER BY s), s::date, s::timestamp, s::timestamptz FROM texts;
SET datestyle = 'ISO, MDY';
SELECT s::date AS d, s::timestamp AS t FROM texts ORDER BY texts.s;
SELECT * FROM ds WHERE id > 10 ORDER BY id;
-- A routine reads and writes in the style of whoever calls it, or in its own.
CREATE FUNCTION of_caller() RETURNS text LANGUAGE plpgsql AS $$
DECLARE d date := '01/02/2003';
BEGIN
  RETURN d::text || ' ' || to_char(d, 'DD Mon');
END $$;
CREATE FUNCTION of_its_own() RETURNS text LANGUAGE plpgsql SET datestyle = 'German' AS $$
DECLARE d date := '01.02.2003';
BEGIN
  RETURN d::text || ' ' || to_char(d, 'DD Mon');
END $$;
SELECT of_caller(), of_its_own();
SET datestyle = 'SQL, DMY';
SELECT of_caller(), of_its_own();
SELECT ARRAY[date '2003-02-01'], ROW(date '2003-02-01', 1);
RESET datestyle;
