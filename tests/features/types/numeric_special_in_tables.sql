-- NaN and infinities of numeric in tables: stored, compared, ordered, aggregated, indexed.
CREATE TABLE n (id int PRIMARY KEY, v numeric);
INSERT INTO n VALUES (1, 1.5), (2, 'NaN'), (3, 'Infinity'), (4, '-Infinity'), (5, NULL), (6, 0), (7, 'nan'), (8, -2.25), (9, '-inf'::numeric);
SELECT * FROM n ORDER BY v, id;
SELECT * FROM n ORDER BY v DESC NULLS LAST, id DESC;
SELECT id FROM n WHERE v = 'NaN' ORDER BY id;
SELECT id FROM n WHERE v > 1 ORDER BY id;
SELECT id FROM n WHERE v < 0 ORDER BY id;
SELECT id FROM n WHERE v >= 'Infinity' ORDER BY id;
SELECT id FROM n WHERE v BETWEEN '-Infinity' AND 0 ORDER BY id;
SELECT v, count(*) FROM n GROUP BY v ORDER BY v;
SELECT count(DISTINCT v), min(v), max(v), sum(v), avg(v) FROM n;
SELECT min(v), max(v), sum(v), avg(v) FROM n WHERE id IN (1, 3, 6);
SELECT min(v), max(v), sum(v), avg(v) FROM n WHERE id IN (1, 3, 4);
SELECT sum(v), min(v) FROM n WHERE id IN (4, 8, 9);
SELECT id, v + 1, v * 2, v - v, -v, abs(v), round(v, 1), v::text, v::float8 FROM n WHERE id <> 5 ORDER BY id;
SELECT v::int FROM n WHERE id = 2;
SELECT v::numeric(10, 2) FROM n WHERE id = 3;
CREATE INDEX n_v ON n (v);
CREATE UNIQUE INDEX n_v_id ON n (v DESC, id);
SELECT id FROM n WHERE v = 'NaN' ORDER BY id;
SELECT id FROM n WHERE v > 1 ORDER BY v, id;
SELECT id FROM n WHERE v <= 0 ORDER BY v, id;
SELECT id, v FROM n ORDER BY v DESC NULLS FIRST, id LIMIT 4;
SELECT max(v), min(v) FROM n;
SELECT a.id, b.id FROM n a JOIN n b ON a.v = b.v AND a.id < b.id ORDER BY 1, 2;
UPDATE n SET v = v + 1 WHERE v >= 'Infinity';
UPDATE n SET v = 'Infinity' WHERE id = 8 RETURNING v;
UPDATE n SET v = 3 WHERE v = 'NaN' AND id = 7;
DELETE FROM n WHERE v = '-Infinity' AND id = 9;
SELECT * FROM n ORDER BY v, id;
CREATE TABLE k (v numeric PRIMARY KEY, w numeric NOT NULL DEFAULT 'NaN' CHECK (w > 0), u numeric GENERATED ALWAYS AS (v * 2) STORED);
INSERT INTO k (v) VALUES ('NaN'), ('Infinity'), ('-Infinity'), (1);
INSERT INTO k (v) VALUES ('nan');
INSERT INTO k VALUES (2, '-Infinity');
INSERT INTO k VALUES ('inf', 1) ON CONFLICT (v) DO UPDATE SET w = excluded.w RETURNING *;
SELECT * FROM k ORDER BY v;
SELECT * FROM k WHERE v = 'NaN';
SELECT * FROM k WHERE v IN ('Infinity', '-Infinity') ORDER BY v;
CREATE TABLE c (k numeric REFERENCES k, l numeric);
INSERT INTO c VALUES ('NaN', 1), ('-Infinity', 'NaN');
INSERT INTO c VALUES (7, 1);
DELETE FROM k WHERE v = 'NaN';
SELECT * FROM c JOIN k ON k.v = c.k ORDER BY k;
COPY n TO STDOUT;
COPY n FROM STDIN;
20	NaN
21	-Infinity
22	Infinity
\.
SELECT * FROM n WHERE id >= 20 ORDER BY id;
DO $$ DECLARE r record; x numeric; BEGIN FOR r IN SELECT * FROM n WHERE v = 'NaN' ORDER BY id LOOP x := r.v; RAISE NOTICE '% % %', r.id, x, x = 'NaN'; END LOOP; END $$;
SELECT to_jsonb(n) FROM n WHERE id IN (1, 2) ORDER BY id;
SELECT v, rank() OVER (ORDER BY v), sum(v) OVER (ORDER BY id) FROM n WHERE id IN (1, 3, 6, 20) ORDER BY id;
ALTER TABLE n ALTER COLUMN v TYPE float8;
SELECT * FROM n ORDER BY v, id;
ALTER TABLE n ALTER COLUMN v TYPE numeric;
SELECT * FROM n ORDER BY v, id;
