-- CREATE, ALTER and DROP DOMAIN
CREATE DOMAIN a1 AS integer;
CREATE DOMAIN a1 AS text;
CREATE DOMAIN a2 AS nothing_known;
CREATE DOMAIN a2 AS record;
CREATE DOMAIN a2 AS integer DEFAULT 1 DEFAULT 2;
CREATE DOMAIN a2 AS integer NOT NULL NULL;
CREATE DOMAIN a2 AS integer UNIQUE;
CREATE DOMAIN a2 AS integer PRIMARY KEY;
CREATE DOMAIN a2 AS integer REFERENCES a1;
CREATE DOMAIN a2 AS integer CHECK (VALUE);
CREATE DOMAIN a2 AS integer CHECK (nothing > 0);
CREATE DOMAIN a2 AS integer CHECK (VALUE > (SELECT 1));
CREATE DOMAIN a2 AS integer CHECK (sum(VALUE) > 1);
CREATE DOMAIN a2 AS integer CONSTRAINT c CHECK (VALUE > 0) CONSTRAINT c CHECK (VALUE < 9);
CREATE DOMAIN a2 AS integer CHECK (VALUE > 0) CHECK (VALUE < 100) CHECK (VALUE <> 50) NOT NULL DEFAULT 7;
SELECT conname, pg_get_constraintdef(oid), convalidated, contypid::regtype FROM pg_constraint WHERE contypid = 'a2'::regtype ORDER BY conname;
SELECT typname, typtype, typnotnull, typbasetype::regtype, typtypmod, typdefault, typcategory FROM pg_type WHERE typname IN ('a1', 'a2') ORDER BY typname;
-- defaults and NOT NULL
CREATE TABLE t (id integer PRIMARY KEY, v a2);
INSERT INTO t (id) VALUES (1) RETURNING v;
ALTER DOMAIN a2 SET DEFAULT 8;
INSERT INTO t (id) VALUES (2) RETURNING v;
ALTER DOMAIN a2 DROP DEFAULT;
INSERT INTO t (id) VALUES (3) RETURNING v;
ALTER DOMAIN a2 DROP NOT NULL;
INSERT INTO t (id) VALUES (3) RETURNING v;
ALTER DOMAIN a2 SET NOT NULL;
UPDATE t SET v = 9 WHERE id = 3;
ALTER DOMAIN a2 SET NOT NULL;
INSERT INTO t VALUES (4, NULL);
-- constraints
ALTER DOMAIN a2 DROP CONSTRAINT a2_check;
INSERT INTO t VALUES (4, -4);
ALTER DOMAIN a2 DROP CONSTRAINT a2_check;
ALTER DOMAIN a2 DROP CONSTRAINT IF EXISTS a2_check;
ALTER DOMAIN a2 ADD CONSTRAINT small CHECK (VALUE < 9);
ALTER DOMAIN a2 ADD CONSTRAINT small CHECK (VALUE < 9) NOT VALID;
ALTER DOMAIN a2 ADD CONSTRAINT small CHECK (VALUE < 9);
INSERT INTO t VALUES (5, 9);
SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE contypid = 'a2'::regtype ORDER BY conname;
ALTER DOMAIN a2 VALIDATE CONSTRAINT small;
UPDATE t SET v = 1 WHERE v = 9;
ALTER DOMAIN a2 VALIDATE CONSTRAINT small;
ALTER DOMAIN a2 VALIDATE CONSTRAINT none_such;
ALTER DOMAIN a2 RENAME CONSTRAINT small TO tiny;
ALTER DOMAIN a2 RENAME CONSTRAINT small TO tiny;
INSERT INTO t VALUES (5, 9);
ALTER DOMAIN a2 ADD UNIQUE (v);
ALTER DOMAIN none_such SET NOT NULL;
ALTER DOMAIN a2 RENAME TO a1;
ALTER DOMAIN a2 RENAME TO a3;
INSERT INTO t VALUES (5, 9);
SELECT v FROM t WHERE id = 1;
-- domains of domains
CREATE DOMAIN base AS numeric DEFAULT 3 CHECK (VALUE > 0);
CREATE DOMAIN derived AS base CONSTRAINT even CHECK (VALUE % 2 = 0);
SELECT 4::derived;
SELECT 3::derived;
SELECT (-1)::derived;
SELECT 4::base::derived, 4::derived::base;
ALTER DOMAIN base SET NOT NULL;
ALTER DOMAIN base ADD CONSTRAINT low CHECK (VALUE < 1000);
SELECT NULL::derived;
SELECT 2000::derived;
CREATE TABLE u (id integer, d derived DEFAULT 6);
INSERT INTO u (id) VALUES (1) RETURNING d;
ALTER DOMAIN base ADD CONSTRAINT lower CHECK (VALUE < 5);
CREATE TABLE v (id integer, d derived);
INSERT INTO v (id) VALUES (1);
SELECT typname, typbasetype::regtype, typdefault FROM pg_type WHERE typname IN ('base', 'derived') ORDER BY 1;
-- dropping
DROP DOMAIN none_such;
DROP DOMAIN IF EXISTS none_such;
DROP DOMAIN base;
DROP DOMAIN a3;
DROP DOMAIN a3 CASCADE;
SELECT * FROM t ORDER BY id;
DROP TABLE u, v;
DROP DOMAIN base CASCADE;
SELECT 1::derived;
DROP TYPE a1;
-- columns come, change and go
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE DOMAIN given AS integer DEFAULT 4 NOT NULL;
CREATE TABLE w (id integer);
INSERT INTO w VALUES (1), (0);
ALTER TABLE w ADD COLUMN p positive;
ALTER TABLE w ADD COLUMN q positive DEFAULT 0;
ALTER TABLE w ADD COLUMN q positive DEFAULT 2;
ALTER TABLE w ADD COLUMN g given;
SELECT * FROM w ORDER BY id;
ALTER TABLE w ALTER COLUMN id TYPE positive;
UPDATE w SET id = 2 WHERE id = 0;
ALTER TABLE w ALTER COLUMN id TYPE positive;
INSERT INTO w (id) VALUES (-1);
ALTER TABLE w ALTER COLUMN id TYPE integer;
INSERT INTO w (id) VALUES (-1);
SELECT * FROM w ORDER BY id;
CREATE TABLE like_w (LIKE w);
INSERT INTO like_w VALUES (1, -1);
CREATE TABLE as_w AS SELECT p, q, p + 1 AS r FROM w;
INSERT INTO as_w VALUES (-1, 1, 1);
INSERT INTO as_w VALUES (1, 1, -1);
SELECT column_name, data_type, domain_name, udt_name, is_nullable FROM information_schema.columns WHERE table_name = 'w' ORDER BY ordinal_position;
SELECT attname, atttypid::regtype, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'w'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT domain_name, data_type, numeric_precision, domain_default, udt_name FROM information_schema.domains WHERE domain_schema = 'public' ORDER BY 1;
SELECT constraint_name, domain_name FROM information_schema.domain_constraints WHERE domain_schema = 'public' ORDER BY 1;
-- views, schemas, enums
CREATE VIEW good AS SELECT p, 3::positive AS three FROM w;
SELECT * FROM good ORDER BY p;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN fine AS mood CHECK (VALUE > 'sad');
SELECT 'ok'::fine;
SELECT 'sad'::fine;
SELECT 'odd'::fine;
DROP DOMAIN mood;
CREATE SCHEMA app;
CREATE DOMAIN app.level AS integer CHECK (VALUE BETWEEN 1 AND 9);
CREATE TABLE app.levels (l app.level);
INSERT INTO app.levels VALUES (3);
INSERT INTO app.levels VALUES (13);
SELECT 10::app.level;
SELECT 10::level;
ALTER DOMAIN app.level SET SCHEMA public;
SELECT 10::level;
COMMENT ON DOMAIN level IS 'one to nine';
SELECT obj_description('level'::regtype, 'pg_type');
-- what psql's \dD asks
SELECT n.nspname as "Schema",
       t.typname as "Name",
       pg_catalog.format_type(t.typbasetype, t.typtypmod) as "Type",
       (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type bt
        WHERE c.oid = t.typcollation AND bt.oid = t.typbasetype AND t.typcollation <> bt.typcollation) as "Collation",
       CASE WHEN t.typnotnull THEN 'not null' END as "Nullable",
       t.typdefault as "Default",
       pg_catalog.array_to_string(ARRAY(
         SELECT pg_catalog.pg_get_constraintdef(r.oid, true) FROM pg_catalog.pg_constraint r WHERE t.oid = r.contypid
       ), ' ') as "Check"
FROM pg_catalog.pg_type t
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype = 'd'
      AND n.nspname <> 'pg_catalog'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_type_is_visible(t.oid)
ORDER BY 1, 2;
