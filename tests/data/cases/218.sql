-- symptom: CREATE TABLE AS in a transaction is answered with its own name
-- expect: SELECT and the number of rows, as outside
CREATE TABLE few (a integer);
INSERT INTO few VALUES (1), (2);
BEGIN;
CREATE TABLE copied AS SELECT * FROM few;
CREATE TABLE bare AS SELECT * FROM few WITH NO DATA;
COMMIT;
CREATE TEMP TABLE kept ON COMMIT DELETE ROWS AS SELECT 1 AS a;
SET enable_sort = off;
SET LOCAL work_mem = '1GB';
SHOW enable_sort;
