-- zones
SET TimeZone = 'UTC';
SET TIME ZONE 'GMT';
SET TIME ZONE 'UTC';
SET SESSION timezone TO 'Etc/UTC';
SET timezone TO DEFAULT;
SET TimeZone = 'UTC';
SELECT make_timestamptz(2024, 1, 1, 12, 0, 0, '+2'), make_timestamptz(2024, 1, 1, 12, 0, 0, '-05:30'),
       make_timestamptz(2024, 1, 1, 12, 0, 0, '+0230'), make_timestamptz(2024, 1, 1, 12, 0, 0, '+01:02:03'),
       make_timestamptz(2024, 1, 1, 12, 0, 0, 'UTC+2'), make_timestamptz(2024, 7, 1, 12, 0, 0, 'Europe/Berlin'),
       make_timestamptz(2024, 1, 1, 12, 0, 0, 'EST'), make_timestamptz(2024, 1, 1, 12, 0, 0, '+123');
SELECT make_timestamptz(2024, 1, 1, 12, 0, 0, '10');
SELECT make_timestamptz(2024, 1, 1, 12, 0, 0, '+16');
SELECT make_timestamptz(2024, 1, 1, 12, 0, 0, '+02:60');
SELECT make_timestamptz(2024, 1, 1, 12, 0, 0, 'Nowhere/Land');
SELECT u, date_trunc(u, z, 'Europe/Berlin'), date_trunc(u, z, 'America/New_York')
FROM unnest(ARRAY['microseconds', 'second', 'minute', 'hour', 'day', 'week', 'month', 'year']) u,
     unnest(ARRAY['2024-10-27 00:30:15.5+00', '2024-10-27 01:30:15.5+00', '2024-03-31 01:30+00', '2024-11-03 05:45+00',
                  '2024-11-03 06:45+00']::timestamptz[]) z;
SELECT date_trunc('hour', '2024-01-01 10:20:30+00'::timestamptz, 'Asia/Kolkata'), date_trunc('minute', '1800-01-01 10:20:30+00'::timestamptz, 'Europe/Berlin');
SELECT to_char('2024-01-01 10:20:30+00'::timestamptz, 'HH24:MI TZH:TZM TZ OF'), to_char('2024-01-01 10:20:30'::timestamp, 'TZH:TZM');
SELECT '294276-12-31 23:59:59-01'::timestamptz;
SELECT '294277-01-01 00:30:00+01'::timestamptz;
SELECT '4714-11-23 23:30:00-01 BC'::timestamptz, '4714-11-24 00:00:00+00 BC'::timestamptz;
SELECT '4714-11-24 00:30:00+01 BC'::timestamptz;
SELECT '294277-01-01 00:30:00'::timestamp;
SELECT '4714-11-23 23:30:00 BC'::timestamp;
SELECT pg_typeof(g), g FROM generate_series('2024-01-01'::timestamp, '2024-01-02'::date, '1 day'::interval) g;
SELECT pg_typeof(g), g FROM generate_series('2024-01-01'::date, '2024-01-02'::timestamp, '1 day'::interval) g;
SELECT pg_typeof(g), g FROM generate_series('2024-01-01'::date, '2024-01-02'::date, '1 day'::interval) g;
SELECT pg_typeof(g), g FROM generate_series('2024-01-01'::date, '2024-01-02', '1 day'::interval) g;
SELECT pg_typeof(g), g FROM generate_series('2024-01-01'::timestamp, '2024-01-02', '1 day') g;
SELECT pg_typeof(g), g FROM generate_series('2024-01-01'::timestamp, '2024-01-02'::timestamptz, '1 day') g;
-- bytea
SELECT n, encode(substr(decode(repeat('00ff10', 60), 'hex'), 1, n), 'base64') FROM unnest(ARRAY[0, 1, 2, 3, 54, 55, 56, 57, 58, 59, 60, 111, 112, 113, 114, 115]) n;
SELECT string_agg(b, ',' ORDER BY b), string_agg(b, '\x00' ORDER BY b), string_agg(b, NULL ORDER BY b) FROM (VALUES ('\x01'::bytea), ('\x02')) v(b);
CREATE TABLE b (k bytea PRIMARY KEY, n integer);
INSERT INTO b SELECT decode(repeat('61', n), 'hex'), n FROM generate_series(1990, 1998) n;
SELECT n FROM b WHERE k = decode(repeat('61', 1998), 'hex');
SELECT n FROM b WHERE k = decode(repeat('61', 1997), 'hex');
SELECT count(*) FROM b x, generate_series(1990, 1998) g WHERE x.k = decode(repeat('61', g), 'hex');
-- jsonb
SELECT jsonb_build_object(true, 1, false, 2), jsonb_build_object('2024-01-01 10:00'::timestamp, 1, '2024-01-01 10:00+00'::timestamptz, 2),
       jsonb_build_object('2024-01-01'::date, 1, 1.50, 2, 'x', 3);
SELECT '1'::jsonb -> 0, '1'::jsonb -> -1, '1'::jsonb -> 1, '"a"'::jsonb -> 0, '"a"'::jsonb ->> 0, 'null'::jsonb -> 0, 'null'::jsonb ->> 0,
       '{"a": 1}'::jsonb -> 0, '1'::jsonb #> '{0}', '1'::jsonb -> 'a', '[1]'::jsonb -> -1, '1'::jsonb ->> -2;
SELECT length(('[' || repeat('1e100,', 2000) || '1]')::jsonb::text);
SELECT jsonb_array_length(('[' || repeat('1e131071,', 20) || '1]')::jsonb);
-- differs: PostgreSQL keeps the exponents
SELECT jsonb_array_length(('[' || repeat('1e131071,', 20000) || '1]')::jsonb);
SELECT length((repeat('[', 1000) || repeat(']', 1000))::jsonb::text);
-- differs: PostgreSQL goes as deep as its stack
SELECT length((repeat('[', 1001) || repeat(']', 1001))::jsonb::text);
-- differs: as above
SELECT length(jsonb_build_array((repeat('[', 1000) || repeat(']', 1000))::jsonb)::text);
-- differs: as above
SELECT length(to_jsonb(ARRAY[(repeat('[', 1000) || repeat(']', 1000))::jsonb])::text);
-- differs: as above
SELECT length(jsonb_set('[[1]]', '{0,0}', (repeat('[', 999) || repeat(']', 999))::jsonb)::text);
SELECT length(jsonb_set('[[1]]', '{0,0}', (repeat('[', 998) || repeat(']', 998))::jsonb)::text);
-- differs: as above
SELECT length(((repeat('[', 1000) || repeat(']', 1000))::jsonb || '{}'::jsonb)::text);
