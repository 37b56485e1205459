CREATE FUNCTION f(integer, text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  n ALIAS FOR $1;
  label ALIAS FOR $2;
  other integer := 7;
  again ALIAS FOR other;
BEGIN
  again := again + n;
  RETURN label || other;
END $$;
SELECT f(3, 'x');
CREATE FUNCTION g(a integer, b integer) RETURNS integer LANGUAGE 'plpgsql' AS 'BEGIN RETURN $1 - $2; END;';
SELECT g(5, 3);
