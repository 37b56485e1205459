CREATE FUNCTION grade(n numeric) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF n >= 90 THEN RETURN 'A';
  ELSIF n >= 80 THEN RETURN 'B';
  ELSEIF n >= 70 THEN RETURN 'C';
  ELSE
    IF n IS NULL THEN RETURN '?'; END IF;
    RETURN 'F';
  END IF;
END $$;
SELECT grade(95), grade(80.5), grade(70), grade(1), grade(NULL);
