-- functions that return record, and the columns that a query says they have
CREATE FUNCTION pair() RETURNS record LANGUAGE sql AS 'SELECT 1, ''x''::text';
CREATE FUNCTION pairs() RETURNS SETOF record LANGUAGE sql AS 'SELECT 1, ''x''::text';
CREATE FUNCTION pl_pair() RETURNS record LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1, 'x'::text INTO r; RETURN r; END $$;
CREATE FUNCTION pl_row() RETURNS record LANGUAGE plpgsql AS $$ BEGIN RETURN (1, 'x'::text); END $$;
CREATE FUNCTION pl_next() RETURNS SETOF record LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1, 'x'::text INTO r; RETURN NEXT r; END $$;
SELECT * FROM pair() AS q (a integer, b text);
SELECT * FROM pair() AS q (a bigint, b varchar);
-- state only: PostgreSQL has a context
SELECT * FROM pair() AS q (a integer);
-- state only: PostgreSQL has a context
SELECT * FROM pair() AS q (a integer, b text, c integer);
-- state only: PostgreSQL has a context
SELECT * FROM pair() AS q (a integer, b integer);
SELECT * FROM pairs() AS q (a integer, b text);
-- state only: PostgreSQL has a context
SELECT * FROM pairs() AS q (a integer, b integer);
SELECT * FROM pl_pair() AS q (a integer, b text);
-- state only: PostgreSQL has a context
SELECT * FROM pl_pair() AS q (a integer);
-- state only: PostgreSQL has a context
SELECT * FROM pl_pair() AS q (a integer, b integer);
-- state only: PostgreSQL has a context
SELECT * FROM pl_pair() AS q (a integer, b text, c integer);
-- state only: PostgreSQL has a context
SELECT * FROM pl_pair() AS q (a bigint, b text);
SELECT * FROM pl_row() AS q (a integer, b text);
-- state only: PostgreSQL has a context
SELECT * FROM pl_row() AS q (a integer, b varchar);
SELECT * FROM pl_next() AS q (a integer, b text);
-- state only: PostgreSQL has a context
SELECT * FROM pl_next() AS q (a integer, b integer);
-- functions that have columns of their own
CREATE TABLE kept (a integer, b text);
CREATE FUNCTION given(OUT x integer, OUT y text) LANGUAGE sql AS 'SELECT 1, ''x''::text';
CREATE FUNCTION row_of() RETURNS kept LANGUAGE sql AS 'SELECT 1, ''x''::text';
SELECT * FROM given() AS q (a integer, b text);
SELECT * FROM row_of() AS q (a integer, b text);
SELECT * FROM generate_series(1, 2) AS q (a integer);
SELECT * FROM abs(1) AS q (a integer);
SELECT * FROM pair();
DROP FUNCTION pair, pairs, pl_pair, pl_row, pl_next, given, row_of;
DROP TABLE kept;
