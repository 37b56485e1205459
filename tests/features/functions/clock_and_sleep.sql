SELECT clock_timestamp() >= now(), pg_typeof(clock_timestamp()), pg_typeof(timeofday()), timeofday() ~ '^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d\.\d{6} 20\d\d UTC$';
SELECT pg_sleep(0.001), pg_sleep(0) IS NULL;
SELECT pg_sleep_for('1 millisecond');
SELECT pg_sleep(NULL), pg_sleep(-1);
DO $$ DECLARE t timestamptz := clock_timestamp(); BEGIN PERFORM pg_sleep(0.02); RAISE NOTICE '%', clock_timestamp() - t >= interval '20 ms'; RAISE NOTICE '%', now() <= t; END $$;
CREATE TABLE log (id serial, at timestamptz DEFAULT clock_timestamp(), what text);
INSERT INTO log (what) VALUES ('a'), ('b');
SELECT id, at <= clock_timestamp(), what FROM log ORDER BY id;
SELECT pg_sleep('x');
