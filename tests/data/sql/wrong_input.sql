CREATE TABLE t (a integer PRIMARY KEY, b varchar(5) NOT NULL);
INSERT INTO t VALUES (1, 'x');

FOO;
SELECT * FROM t WHERE a = ;
SELECT * FROM t WHERE (a = 1;
SELECT a b c FROM t;
INSERT INTO t VALUES (1, 'x';
CREATE TABLE x (a integer,);
CREATE TABLE x (a integer b text);
CREATE INDEX ON t;
DROP t;
UPDATE t SET;
DELETE t;
SELECT 'a' + 1;
SELECT 1 + 'a'::text;
SELECT b + 1 FROM t;
SELECT a || b FROM t;
SELECT a AND true FROM t;
SELECT length(a) FROM t;
SELECT a = b FROM t;
SELECT a IN ('x') FROM t;
SELECT a LIKE 'x' FROM t;
SELECT CASE a WHEN 'x' THEN 1 END FROM t;
SELECT sum(b) FROM t;
SELECT nosuch(a) FROM t;
SELECT a.b FROM t;
SELECT t.a.b FROM t;
SELECT (a).b FROM t;
SELECT cast(a AS nosuch) FROM t;
SELECT a::integer[] FROM t;
SELECT 1 / a - 1 / (a - 1) FROM t;
SELECT 2147483647 + a FROM t;
SELECT b::integer FROM t;
SELECT repeat('x', 2000000000);
SELECT 'x' || repeat('y', 100)::varchar(200) = 'z';
SELECT 1 FROM t, t AS t;
SELECT 1 GROUP BY a;
SELECT ALL 1;
SELECT DISTINCT a, b FROM t ORDER BY length(b);
SELECT max(max(a)) FROM t;
SELECT a FROM t WHERE max(a) = 1;
SELECT a FROM t GROUP BY max(a);
SELECT 1 WHERE EXISTS (SELECT nosuch);
SELECT (SELECT 1, 2);
SELECT 1 = (SELECT 1, 2);
SELECT (1, 2) = (SELECT 1);
SELECT E'\u00e9', U&'\00e9';
SELECT E'\u0000';
SELECT E'\xff';
-- state only: libpg_query's message shows less of the text
SELECT 1_000;
-- state only: libpg_query's message shows less of the text
SELECT 0x10;
SELECT 1e;
-- state only: libpg_query's message shows less of the text
SELECT 123abc;
-- differs: statements with parameters are not run without values here
SELECT $1;
-- differs: operators beyond the slice do not exist
SELECT @ 5;
SELECT 5 !;
SELECT a FROM t FOR UPDATE;
SELECT * INTO x FROM t;
GRANT ALL ON t TO x;
-- differs: it is no error outside of a transaction block, where it has nothing to protect
LOCK TABLE t;
VACUUM t;
ALTER TABLE t ADD COLUMN c integer;
CREATE VIEW v AS SELECT 1;
CREATE SEQUENCE s;
CREATE TYPE y AS (a integer);
CREATE SCHEMA z;
MERGE INTO t USING t AS s ON t.a = s.a WHEN MATCHED AND false THEN DELETE;
LISTEN x;
SELECT * FROM t TABLESAMPLE SYSTEM (100);
SELECT xmlparse(document '<a/>');
SELECT interval '1 day';
SELECT '{}'::json;
-- differs: not in the slice: its name is unknown
SELECT 'a' ~ 'b';
SELECT B'101';
SELECT ROW(1, 2);
SELECT 1 IS DOCUMENT;
SELECT a COLLATE "C" FROM t;
SELECT 'x' SIMILAR TO 'y';
SELECT count(*) OVER () FROM t;
-- differs: not in the slice: its name is unknown
SELECT nextval('s');
-- differs: not in the slice: its name is unknown
SELECT pg_sleep(0);
-- differs: not in the slice: its name is unknown
SELECT random() < 2;
-- differs: not in the slice: its name is unknown
SELECT to_char(1, '9');
-- differs: not in the slice: its name is unknown
SELECT * FROM pg_class WHERE false;
SELECT * FROM t WHERE CURRENT OF c;
SELECT a FROM ONLY t;
SELECT 1 AS "";
SELECT "a"."b" FROM "t";
SELECT 'unterminated;
SELECT "unterminated;
SELECT $q$unterminated;
;
