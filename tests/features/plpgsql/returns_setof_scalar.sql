CREATE FUNCTION evens(n integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..n LOOP
    IF i % 2 = 0 THEN RETURN NEXT i; END IF;
  END LOOP;
  RETURN;
END $$;
SELECT * FROM evens(7) ORDER BY 1;
SELECT evens(6);
SELECT sum(e) FROM evens(100) AS e;
SELECT e + 1 AS next FROM evens(4) AS t(e) ORDER BY 1;
SELECT * FROM evens(0);
