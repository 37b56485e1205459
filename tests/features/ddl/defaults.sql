CREATE SEQUENCE s START 5;
CREATE TABLE t (id integer DEFAULT nextval('s'), a integer DEFAULT 1 + 2, b text DEFAULT upper('x') || 'y', c date DEFAULT '2024-01-02', d boolean DEFAULT true, e integer[] DEFAULT ARRAY[1, 2], f numeric(6,2) DEFAULT 1.005);
INSERT INTO t DEFAULT VALUES RETURNING *;
INSERT INTO t (id, a) VALUES (DEFAULT, NULL), (DEFAULT, DEFAULT) RETURNING id, a, b;
ALTER TABLE t ALTER a SET DEFAULT 100, ALTER b DROP DEFAULT;
INSERT INTO t (id) VALUES (1) RETURNING a, b, c;
UPDATE t SET a = DEFAULT, c = DEFAULT WHERE id = 5 RETURNING a, c;
-- state only: we know the position
ALTER TABLE t ALTER a SET DEFAULT 'abc';
-- state only: we know the position
ALTER TABLE t ALTER a SET DEFAULT (SELECT 1);
CREATE TABLE u (a integer DEFAULT sum(1));
CREATE TABLE u (a timestamp DEFAULT now(), b integer);
INSERT INTO u (b) VALUES (1) RETURNING a IS NOT NULL AS set;
DROP SEQUENCE s;
