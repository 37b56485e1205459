CREATE FUNCTION control(n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE out text := ''; i integer := 0;
BEGIN
  <<a>> LOOP
    i := i + 1;
    <<b>> FOR j IN 1..n LOOP
      <<c>> WHILE true LOOP
        EXIT c WHEN j % 2 = 1;
        CONTINUE b WHEN j = 4;
        EXIT a WHEN i = 3;
        out := out || i || j || ' ';
        EXIT c;
      END LOOP c;
      IF j = 3 THEN CONTINUE a; END IF;
    END LOOP b;
    EXIT WHEN i > 10;
  END LOOP a;
  RETURN out || i;
END $$;
SELECT control(5), control(2), control(0);
