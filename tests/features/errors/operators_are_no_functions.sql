-- Names of operators and of SQL's syntax are no names of functions.
SELECT "+"(1, 2);
SELECT "||"('a', 'b');
SELECT "="(1, 1);
SELECT "ilike"('a', 'a');
SELECT "similar to"('a', 'a');
SELECT "like"('a', 'a'), "position"('ab', 'b'), "overlaps"(date '2020-01-01', date '2020-01-03', date '2020-01-02', date '2020-01-04');
SELECT 1 FROM "+"(1, 2) f;
SELECT "+"(1, 2) OVER ();
CREATE FUNCTION "+"(int, int) RETURNS int LANGUAGE sql AS 'SELECT 42';
SELECT "+"(1, 2), 1 + 2;
-- state only: the message names it in quotes
SELECT " lock_row"(1, 2, 'a', 3);
-- state only: likewise
SELECT " nextval"(1);
-- state only: likewise
DO $$ BEGIN PERFORM " row_is_free"(1, 2, 'a', 3); END $$;
