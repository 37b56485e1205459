CREATE TABLE t (a integer PRIMARY KEY);
INSERT INTO t VALUES (1);
CREATE FUNCTION attempt(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n integer; v text;
BEGIN
  IF what = 'zero' THEN n := 1 / 0;
  ELSIF what = 'dup' THEN INSERT INTO t VALUES (1);
  ELSIF what = 'cast' THEN n := 'abc';
  ELSIF what = 'rows' THEN SELECT a INTO STRICT n FROM t WHERE a = 99;
  ELSIF what = 'many' THEN SELECT g INTO STRICT n FROM generate_series(1, 2) AS g;
  ELSIF what = 'range' THEN n := 2147483647; n := n + 1;
  ELSIF what = 'table' THEN PERFORM * FROM missing;
  ELSIF what = 'assert' THEN ASSERT 1 = 2, 'no';
  ELSE RAISE EXCEPTION 'custom' USING ERRCODE = '45000';
  END IF;
  RETURN 'none';
EXCEPTION
  WHEN division_by_zero THEN RETURN 'division_by_zero';
  WHEN unique_violation OR foreign_key_violation THEN RETURN 'constraint';
  WHEN invalid_text_representation THEN RETURN 'text: ' || SQLERRM;
  WHEN no_data_found THEN RETURN 'no_data_found';
  WHEN too_many_rows THEN RETURN 'too_many_rows';
  WHEN data_exception THEN RETURN 'class 22 ' || SQLSTATE;
  WHEN undefined_table THEN RETURN SQLERRM;
  WHEN SQLSTATE '45000' THEN RETURN 'state ' || SQLERRM;
END $$;
SELECT attempt('zero'), attempt('dup'), attempt('cast'), attempt('rows'), attempt('many'), attempt('range');
SELECT attempt('table'), attempt('other'), attempt('x');
SELECT attempt('assert');
