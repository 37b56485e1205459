-- columns of the types that clients see as texts are added to tables with rows
CREATE TABLE t (k integer PRIMARY KEY, s text);
INSERT INTO t VALUES (1, '{"a": 1}'), (2, '[2]');
ALTER TABLE t ADD COLUMN d jsonb DEFAULT '{}'::jsonb;
ALTER TABLE t ADD COLUMN u uuid DEFAULT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid;
ALTER TABLE t ADD COLUMN b bytea DEFAULT '\x0102'::bytea;
ALTER TABLE t ADD COLUMN i interval DEFAULT '1 day 02:00:00'::interval;
ALTER TABLE t ADD COLUMN ui uuid[] DEFAULT ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid];
ALTER TABLE t ADD COLUMN ba bytea[] DEFAULT ARRAY['\x00ff'::bytea, NULL];
ALTER TABLE t ADD COLUMN z timestamptz DEFAULT '2024-01-01 00:00+00'::timestamptz;
ALTER TABLE t ADD COLUMN h time DEFAULT '10:00'::time;
ALTER TABLE t ADD COLUMN g interval GENERATED ALWAYS AS (make_interval(0, 0, 0, k)) STORED;
ALTER TABLE t ADD COLUMN f real DEFAULT 1.5::real;
SELECT * FROM t ORDER BY k;
ALTER TABLE t ALTER s TYPE jsonb;
ALTER TABLE t ALTER s TYPE jsonb USING s::jsonb;
SELECT k, s -> 'a', s -> 0 FROM t ORDER BY k;
ALTER TABLE t ALTER s TYPE text;
ALTER TABLE t ALTER u TYPE text;
ALTER TABLE t ALTER u TYPE uuid USING u::uuid;
ALTER TABLE t ALTER b TYPE jsonb;
ALTER TABLE t ALTER i TYPE interval USING i * k;
ALTER TABLE t ALTER b TYPE bytea USING b || '\xff'::bytea;
ALTER TABLE t ALTER z TYPE timestamp USING z AT TIME ZONE 'UTC';
SELECT * FROM t ORDER BY k;
SELECT k FROM t WHERE u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' AND i = '2 days 04:00:00';
-- tables without rows take any default
CREATE TABLE e (k integer);
ALTER TABLE e ADD COLUMN u uuid DEFAULT gen_random_uuid(), ADD COLUMN r float8 DEFAULT random(), ADD COLUMN m timestamptz DEFAULT now();
ALTER TABLE e ALTER r TYPE float8 USING random();
INSERT INTO e VALUES (1), (2);
SELECT count(DISTINCT u), count(m) FROM e;
-- generated columns are immutable
CREATE TABLE a (z timestamptz, d date, t timestamp, h time, s text, i interval, g date GENERATED ALWAYS AS (z::date) STORED);
CREATE TABLE a (z timestamptz, g text GENERATED ALWAYS AS (z::text) STORED);
CREATE TABLE a (z timestamptz, g time GENERATED ALWAYS AS (z::time) STORED);
CREATE TABLE a (z timestamptz, g timestamp GENERATED ALWAYS AS (z::timestamp) STORED);
CREATE TABLE a (t timestamp, g timestamptz GENERATED ALWAYS AS (t::timestamptz) STORED);
CREATE TABLE a (d date, g timestamptz GENERATED ALWAYS AS (d::timestamptz) STORED);
CREATE TABLE a (s text, g timestamptz GENERATED ALWAYS AS (s::timestamptz) STORED);
CREATE TABLE a (s text, g date GENERATED ALWAYS AS (s::date) STORED);
CREATE TABLE a (z timestamptz, g timestamptz GENERATED ALWAYS AS (z + interval '1 day') STORED);
CREATE TABLE a (z timestamptz, g timestamptz GENERATED ALWAYS AS (date_trunc('day', z)) STORED);
CREATE TABLE a (z timestamptz, g timestamptz GENERATED ALWAYS AS (date_trunc('day', z, 'UTC')) STORED);
CREATE TABLE a (z timestamptz, g text GENERATED ALWAYS AS (to_char(z, 'YYYY')) STORED);
CREATE TABLE a (t timestamp, g text GENERATED ALWAYS AS (to_char(t, 'YYYY')) STORED);
CREATE TABLE a (z timestamptz, g jsonb GENERATED ALWAYS AS (to_jsonb(z)) STORED);
CREATE TABLE a (z timestamptz, g numeric GENERATED ALWAYS AS (extract(hour FROM z)) STORED);
CREATE TABLE a (k integer, g uuid GENERATED ALWAYS AS (gen_random_uuid()) STORED);
CREATE TABLE a (k integer, g timestamptz GENERATED ALWAYS AS (now()) STORED);
CREATE TABLE a (z timestamptz, t timestamp, d date, h time, i interval,
                g1 timestamp GENERATED ALWAYS AS (z AT TIME ZONE 'UTC') STORED,
                g2 timestamp GENERATED ALWAYS AS (t + i) STORED,
                g3 timestamp GENERATED ALWAYS AS (date_trunc('day', t)) STORED,
                g4 interval GENERATED ALWAYS AS (z - '2020-01-01 00:00+00'::timestamptz) STORED,
                g5 timestamp GENERATED ALWAYS AS (d::timestamp) STORED,
                g6 numeric GENERATED ALWAYS AS (extract(hour FROM t)) STORED,
                g7 time GENERATED ALWAYS AS (t::time) STORED);
INSERT INTO a VALUES ('2024-01-01 10:00+00', '2024-01-01 10:00', '2024-01-01', '10:00', '1 day');
SELECT * FROM a;
