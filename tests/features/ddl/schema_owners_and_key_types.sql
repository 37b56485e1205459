-- AUTHORIZATION: whose a schema is
CREATE SCHEMA mine AUTHORIZATION CURRENT_USER CREATE SEQUENCE s CREATE TABLE t (a integer);
SELECT nspname, pg_get_userbyid(nspowner) = current_user AS is_mine FROM pg_namespace WHERE nspname = 'mine';
CREATE SCHEMA theirs AUTHORIZATION nobody_of_that_name;
CREATE SCHEMA other CREATE TABLE elsewhere.t (a integer);
CREATE SCHEMA other CREATE SEQUENCE elsewhere.s;
CREATE SCHEMA other CREATE VIEW elsewhere.v AS SELECT 1 AS one;
ALTER SCHEMA mine OWNER TO nobody_of_that_name;
ALTER SCHEMA nothing OWNER TO CURRENT_USER;
ALTER SCHEMA mine OWNER TO CURRENT_USER;
CREATE TYPE mine.mood AS ENUM ('ok');
CREATE DOMAIN mine.small AS integer;
ALTER TYPE mine.mood OWNER TO CURRENT_USER;
ALTER DOMAIN mine.small OWNER TO CURRENT_USER;
ALTER TYPE mine.nothing OWNER TO CURRENT_USER;
DROP SCHEMA mine CASCADE;
-- columns that a foreign key can compare
CREATE TABLE keys (i integer PRIMARY KEY, n numeric UNIQUE, f float8 UNIQUE, t text UNIQUE, d date UNIQUE);
CREATE TABLE a1 (i numeric REFERENCES keys (i));
CREATE TABLE a2 (i float8 REFERENCES keys (n));
CREATE TABLE a3 (i float8 REFERENCES keys (i));
CREATE TABLE a4 (i integer REFERENCES keys (n), j numeric REFERENCES keys (f), k smallint REFERENCES keys (i), l varchar REFERENCES keys (t), m timestamp REFERENCES keys (d));
DROP TABLE a4, keys;
-- an identity is NOT NULL
CREATE TABLE odd (id integer GENERATED ALWAYS AS IDENTITY NULL);
CREATE TABLE odd (id integer NULL GENERATED ALWAYS AS IDENTITY);
