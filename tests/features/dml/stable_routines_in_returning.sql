-- A stable routine sees the table as it was before the statement, a volatile one the rows that have changed by then.
CREATE TABLE t (k integer PRIMARY KEY, x bigint);
CREATE FUNCTION rows_stable() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM t';
CREATE FUNCTION rows_volatile() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM t';
CREATE FUNCTION rows_from(lowest integer) RETURNS bigint STABLE LANGUAGE plpgsql AS
  'BEGIN RETURN (SELECT count(*) FROM t WHERE k >= lowest); END';
INSERT INTO t VALUES (1, 1), (2, 2) RETURNING k, rows_stable(), rows_volatile(), rows_from(1), rows_from(2) + 10;
INSERT INTO t VALUES (3, 3) RETURNING rows_stable(), rows_volatile(), rows_from(2);
UPDATE t SET k = k + 10 RETURNING k, rows_stable(), rows_from(5 + 1), COALESCE(rows_from(11), -1);
DELETE FROM t WHERE k > 12 RETURNING k, rows_stable(), rows_from(12);
INSERT INTO t VALUES (11, 0), (50, 0) ON CONFLICT (k) DO UPDATE SET x = rows_stable() RETURNING k, x, rows_stable();
WITH added AS (INSERT INTO t VALUES (60, 0) RETURNING rows_stable() AS n) SELECT n FROM added;
SELECT rows_stable();
