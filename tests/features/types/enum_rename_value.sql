-- RENAME VALUE of a label whose text stands in rules of other types.
CREATE TYPE e AS ENUM ('a', 'b');
CREATE TYPE f AS ENUM ('a', 'x');
CREATE TABLE x (t text DEFAULT 'a', v f DEFAULT 'a', n int CHECK (n <> 5), CHECK (t <> 'a' OR n > 0));
CREATE DOMAIN d AS text DEFAULT 'a' CHECK (VALUE <> 'b');
ALTER TYPE e RENAME VALUE 'a' TO 'c';
SELECT 'c'::e;
SELECT 'a'::e;
INSERT INTO x (n) VALUES (1) RETURNING t, v;
ALTER TYPE e RENAME VALUE 'c' TO 'b';
ALTER TYPE e RENAME VALUE 'nothing' TO 'z';
CREATE TABLE y (v e);
INSERT INTO y VALUES ('c');
ALTER TYPE e RENAME VALUE 'c' TO 'a';
SELECT * FROM y;
