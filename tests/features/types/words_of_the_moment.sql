-- 'now', 'today' and the like mean the time of the transaction.
SELECT 'now'::timestamptz = now(), 'now'::timestamp = localtimestamp, 'now'::date = current_date, 'now'::time = localtime;
SELECT 'today'::date = current_date, 'tomorrow'::date - 'yesterday'::date, 'today'::timestamp = date_trunc('day', localtimestamp);
SELECT 'tomorrow 12:00'::timestamp - 'today'::timestamp, 'yesterday allballs'::timestamptz < now();
SELECT 'today'::time;
SELECT 'now 2020'::date;
SELECT ARRAY['today'::date] = ARRAY[current_date], 'today'::text;
SELECT s::date - current_date FROM (VALUES ('now'), ('today'), ('tomorrow'), ('yesterday')) v(s) ORDER BY 1;
CREATE TABLE moments (id integer PRIMARY KEY, t timestamptz, d date);
INSERT INTO moments VALUES (1, 'now', 'today');
SELECT t <= now(), t > now() - interval '1 hour', d >= current_date - 1 FROM moments;
SELECT id FROM moments WHERE d < 'tomorrow';
CREATE FUNCTION day_of(s text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN s::date - current_date; END $$;
SELECT day_of('tomorrow'), day_of('yesterday');
