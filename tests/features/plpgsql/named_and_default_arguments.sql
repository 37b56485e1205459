CREATE FUNCTION f(a integer, b integer DEFAULT 10, c text DEFAULT 'x') RETURNS text LANGUAGE plpgsql AS $$
BEGIN RETURN a || ',' || b || ',' || c; END $$;
SELECT f(1), f(1, 2), f(1, 2, 'y');
SELECT f(a => 1), f(b => 3, a => 2), f(1, c => 'z'), f(1, c := 'w');
SELECT f();
SELECT f(1, d => 2);
CREATE PROCEDURE p(a integer, INOUT b integer DEFAULT 5) LANGUAGE plpgsql AS $$ BEGIN b := a + b; END $$;
CALL p(1);
CALL p(b => 2, a => 1);
