CREATE TABLE base (id integer PRIMARY KEY, kind text, v integer);
INSERT INTO base VALUES (1, 'a', 5), (2, 'b', 6), (3, 'a', 7);
CREATE VIEW one AS SELECT id, kind, v * 10 AS v10 FROM base;
CREATE VIEW two AS SELECT kind, sum(v10) AS total, count(*) AS n FROM one GROUP BY kind;
CREATE VIEW three AS WITH x AS (SELECT * FROM two WHERE n > 1) SELECT x.kind, o.id FROM x JOIN one AS o USING (kind);
SELECT * FROM three ORDER BY id;
UPDATE base SET kind = 'b' WHERE id = 3;
SELECT * FROM three ORDER BY id;
SELECT t.total - 1 AS less FROM two AS t WHERE t.kind = 'a';
SELECT * FROM one AS p JOIN one AS q ON p.kind = q.kind AND p.id < q.id;
SELECT table_name FROM information_schema.views WHERE table_schema = 'public' ORDER BY 1;
CREATE VIEW four AS SELECT missing FROM one;
CREATE VIEW five (a, b, c, d) AS SELECT * FROM one;
CREATE VIEW six AS SELECT id, id FROM base;
-- state only: we name the table
ALTER TABLE base DROP COLUMN v;
DROP VIEW one CASCADE;
SELECT count(*) FROM information_schema.views WHERE table_schema = 'public';
