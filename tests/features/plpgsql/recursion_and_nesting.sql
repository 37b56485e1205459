CREATE FUNCTION fact(n integer) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN IF n <= 1 THEN RETURN 1; END IF; RETURN n * fact(n - 1); END $$;
SELECT fact(10), fact(20);
CREATE FUNCTION hanoi(n integer, a text, b text, c text) RETURNS integer AS $$
DECLARE m integer := 0;
BEGIN
  IF n = 0 THEN RETURN 0; END IF;
  m := hanoi(n - 1, a, c, b);
  m := m + 1;
  m := m + hanoi(n - 1, c, b, a);
  RETURN m;
END $$ LANGUAGE plpgsql;
SELECT hanoi(6, 'a', 'b', 'c');
DO $$
<<outer_block>>
DECLARE x integer := 1;
BEGIN
  DECLARE x integer := 2;
  BEGIN
    RAISE NOTICE '% %', x, outer_block.x;
    outer_block.x := 10;
    <<again>>
    BEGIN EXIT again; RAISE NOTICE 'never'; END;
  END;
  RAISE NOTICE '%', x;
END $$;
