SELECT make_interval(days => 10), make_interval(secs => 1.5), make_interval(1, hours => 2), make_interval(months => 3, years => 1), make_interval(weeks => 1, mins => 5, secs => 2);
SELECT make_interval(secs => n) FROM generate_series(1, 3) n ORDER BY n;
SELECT make_date(day => 5, year => 2024, month => 2), make_date(2024, day => 1, month => 12);
SELECT make_time(hour => 8, min => 15, sec => 23.5), make_timestamp(2013, 7, 15, sec => 23.5, hour => 8, min => 15);
SELECT make_timestamptz(year => 2024, month => 1, mday => 2, hour => 3, min => 4, sec => 5) AT TIME ZONE 'UTC';
SELECT make_timestamptz(2024, 1, 2, 3, 4, 5, timezone => 'America/New_York') AT TIME ZONE 'UTC';
SELECT jsonb_set('{"a": 1}', path => '{b}', replacement => '2'), jsonb_set('{"a": 1}', '{b}', '2', create_if_missing => false);
SELECT jsonb_insert(path => '{0}', jsonb_in => '[1, 2]', replacement => '9', insert_after => true);
SELECT make_interval(days := 2);
SELECT make_interval(day => 2);
SELECT make_date(year => 2024, month => 1);
SELECT make_date(2024, 1, 1, year => 2024);
SELECT make_interval(5, years => 1);
SELECT nothing(a => 1);
SELECT nothing(1, b => 'x', c => 2.5);
-- state only: the schema is not told
SELECT public.nothing(a => 1);
SELECT upper(string => 'x');
SELECT * FROM nothing(a => 1);
CALL nothing(a => 1);
CREATE FUNCTION f(a integer, b text DEFAULT 'b') RETURNS text LANGUAGE sql AS 'SELECT a || b';
SELECT f(b => 'x', a => 1), f(a => 2);
SELECT f(c => 1);
-- state only: the position is that of the value
SELECT f(a => 1, a => 2);
DO $$ BEGIN PERFORM nothing(a => 1); EXCEPTION WHEN undefined_function THEN RAISE NOTICE '%', SQLERRM; END $$;
DO $$ DECLARE i interval; BEGIN i := make_interval(hours => 3); RAISE NOTICE '%', i; END $$;
