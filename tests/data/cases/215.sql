-- symptom: styles of intervals
SET intervalstyle = postgres_verbose;
SELECT interval '1 year 2 mons -3 days 04:05:06.789', interval '-1 day', interval '0', interval '1 mon', interval '-00:00:01';
SET intervalstyle = sql_standard;
SELECT interval '1 year 2 mons', interval '1 day 04:05:06', interval '1 year 2 mons 3 days -04:05:06.7', interval '-1 day -02:00:00', interval '0', interval '-04:00:00';
SET intervalstyle TO 'iso_8601';
SELECT interval '1 year 2 mons -3 days 04:05:06.789', interval '-00:00:00.5', interval '0', (interval '3 days')::text, current_setting('intervalstyle');
SHOW intervalstyle;
SET intervalstyle = nothing;
SET TimeZone = 'Europe/Berlin';
SELECT interval '1 day 2 hours', timestamptz '2020-07-01 12:00:00+00';
CREATE TABLE i (i interval); INSERT INTO i VALUES ('2 days 3 hours');
SELECT i, i::text FROM i;
BEGIN; SET LOCAL intervalstyle = postgres; SELECT i FROM i; COMMIT;
SELECT i FROM i;
RESET intervalstyle;
SELECT i, to_json(i) FROM i;
SELECT set_config('intervalstyle', 'iso_8601', false);
SELECT i FROM i;
