CREATE FUNCTION split(n integer, OUT half integer, OUT rest integer) LANGUAGE plpgsql AS $$
BEGIN
  half := n / 2;
  rest := n % 2;
END $$;
SELECT * FROM split(7);
SELECT half FROM split(9);
SELECT split(7);
SELECT (split(7)).rest;
SELECT (split(5)).*;
CREATE FUNCTION one_out(a integer, OUT b integer) AS $$ BEGIN b := a * 2; END $$ LANGUAGE plpgsql;
SELECT one_out(4), one_out(5) + 1;
SELECT * FROM one_out(3);
CREATE FUNCTION swap(INOUT a text, INOUT b text) AS $$ DECLARE t text := a; BEGIN a := b; b := t; END $$ LANGUAGE plpgsql;
SELECT * FROM swap('x', 'y');
CREATE FUNCTION rec_out(OUT a integer, OUT b text) RETURNS record LANGUAGE plpgsql AS $$ BEGIN a := 1; b := 'one'; END $$;
SELECT a, b FROM rec_out();
