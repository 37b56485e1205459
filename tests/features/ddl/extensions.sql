CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public;
CREATE EXTENSION pgcrypto;
CREATE EXTENSION IF NOT EXISTS "uuid-ossp";
SELECT extname, extversion, extrelocatable FROM pg_extension ORDER BY 1;
SELECT encode(digest('abc', 'md5'), 'hex'), encode(digest('abc'::bytea, 'SHA1'), 'hex');
SELECT encode(digest('', 'sha1'), 'hex'), encode(digest(repeat('x', 200), 'sha1'), 'hex');
SELECT encode(digest('abc', 'sha224'), 'hex'), encode(digest('abc', 'sha256'), 'hex');
SELECT encode(digest('abc', 'sha384'), 'hex'), encode(digest('abc', 'sha512'), 'hex');
SELECT alg, encode(hmac('data', 'key', alg), 'hex') FROM unnest(ARRAY['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512']) alg ORDER BY 1;
SELECT alg, encode(hmac('data'::bytea, repeat('long key ', 30)::bytea, alg), 'hex') FROM unnest(ARRAY['md5', 'sha1', 'sha256', 'sha512']) alg ORDER BY 1;
SELECT digest('abc', 'none');
SELECT hmac('abc', 'key', 'Crc32');
SELECT digest(NULL::text, 'md5') IS NULL, hmac('a', NULL, 'md5') IS NULL;
SELECT length(uuid_generate_v4()::text), uuid_generate_v4() <> uuid_generate_v4(), substr(uuid_generate_v4()::text, 15, 1);
CREATE TABLE t (id uuid PRIMARY KEY DEFAULT uuid_generate_v4(), secret bytea);
INSERT INTO t (secret) SELECT digest('row ' || g, 'sha256') FROM generate_series(1, 20) g;
SELECT count(DISTINCT id), count(DISTINCT secret) FROM t;
SELECT count(*) FROM t WHERE secret = digest('row 7', 'sha256');
-- state only: PostgreSQL names a file
CREATE EXTENSION no_such_thing;
-- state only: PostgreSQL names a file
CREATE EXTENSION IF NOT EXISTS no_such_thing;
DROP TABLE t;
DROP EXTENSION pgcrypto;
DROP EXTENSION pgcrypto;
DROP EXTENSION IF EXISTS "uuid-ossp", pgcrypto;
SELECT count(*) FROM pg_extension;
