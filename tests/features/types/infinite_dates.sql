-- infinity and -infinity of date, timestamp and timestamptz.
SELECT 'infinity'::date, '-infinity'::date, ' Infinity '::timestamp, '-INFINITY'::timestamptz;
SELECT 'inf'::date;
SELECT '+infinity'::timestamp;
SELECT 'infinity'::time;
CREATE TABLE inf (id integer PRIMARY KEY, d date, t timestamp(0), z timestamptz);
CREATE INDEX inf_d ON inf (d);
INSERT INTO inf VALUES (1, 'infinity', 'infinity', 'infinity'), (2, '-infinity', '-infinity', '-infinity'), (3, '2024-02-29', '2024-02-29 12:00', '2024-02-29 12:00+00'), (4, NULL, NULL, NULL);
SELECT * FROM inf ORDER BY d, id;
SELECT * FROM inf ORDER BY z DESC NULLS LAST, id;
SELECT id FROM inf WHERE d = 'infinity';
SELECT id FROM inf WHERE d > '2000-01-01' ORDER BY id;
SELECT id FROM inf WHERE t < '2000-01-01' ORDER BY id;
SELECT min(d), max(d), min(t), max(t), min(z), max(z) FROM inf;
SELECT d, count(*) FROM inf GROUP BY d ORDER BY d;
SELECT id, isfinite(d), isfinite(t), isfinite(z) FROM inf ORDER BY id;
SELECT id, d + 1, d - 1, d + interval '1 day', d + time '10:00', t - interval '1 month', z + interval '1 day' FROM inf ORDER BY id;
SELECT 'infinity'::date - '2000-01-01'::date;
SELECT 'infinity'::timestamp - 'infinity'::timestamp;
SELECT '2000-01-01'::timestamptz - '-infinity'::timestamptz;
SELECT id, extract(year FROM z), extract(month FROM z), extract(epoch FROM z), extract(julian FROM t), extract(hour FROM t) FROM inf WHERE id > 2 ORDER BY id;
SELECT extract(year FROM 'infinity'::date), extract(month FROM 'infinity'::date), extract(epoch FROM '-infinity'::timestamptz), extract(century FROM '-infinity'::timestamp), extract(hour FROM 'infinity'::timestamp);
SELECT extract(hour FROM 'infinity'::date);
SELECT date_part('year', d), date_part('dow', d), date_part('epoch', t), date_part('isoyear', z), date_part('minute', z) FROM inf WHERE id < 3 ORDER BY id;
SELECT extract(month FROM d), extract(dow FROM t), extract(day FROM z) FROM inf ORDER BY id;
SELECT date_trunc('day', t), date_trunc('month', z), date_trunc('day', z, 'Asia/Tokyo') FROM inf ORDER BY id;
SELECT date_trunc('nothing', 'infinity'::timestamp);
SELECT date_bin('1 day', 'infinity', '2000-01-01'::timestamp);
SELECT date_bin('1 day', '2000-01-01', 'infinity'::timestamp);
SELECT d::timestamp, d::timestamptz, t::date, t::timestamptz, z::date, z::timestamp FROM inf ORDER BY id;
SELECT to_char('infinity'::timestamp, 'YYYY'), to_char('-infinity'::timestamptz, 'DD');
SELECT to_timestamp('infinity'::float8), to_timestamp('-infinity'::float8);
SELECT to_timestamp('NaN'::float8);
SELECT 'infinity'::timestamptz AT TIME ZONE 'Europe/Moscow', '-infinity'::timestamp AT TIME ZONE interval '1 hour';
SELECT to_json('infinity'::date), to_jsonb('-infinity'::timestamptz);
SELECT d::text, t::text, z::text FROM inf ORDER BY id;
SELECT 'infinity'::date > 'infinity'::timestamp, 'infinity'::date = 'infinity'::timestamptz, '2024-01-01'::date < 'infinity'::timestamp;
SELECT array_agg(d ORDER BY d) FROM inf;
SELECT d BETWEEN '-infinity' AND 'infinity' FROM inf ORDER BY id;
SELECT (timestamp '2024-01-01', 'infinity') OVERLAPS (timestamp '2024-01-02', 'infinity');
SET timezone = 'America/New_York';
SELECT z, z::timestamp, d::timestamptz FROM inf ORDER BY id;
RESET timezone;
COPY inf TO STDOUT;
COPY inf (id, d, t) FROM STDIN;
5	infinity	-infinity
6	-infinity	infinity
\.
SELECT id, d, t FROM inf WHERE id > 4 ORDER BY id;
