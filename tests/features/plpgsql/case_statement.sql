CREATE FUNCTION k(n integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  CASE n
    WHEN 1, 2 THEN RETURN 'low';
    WHEN 3 THEN RETURN 'three';
    ELSE RETURN 'other';
  END CASE;
END $$;
SELECT k(1), k(2), k(3), k(4), k(NULL);
CREATE FUNCTION s(n integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  CASE WHEN n < 0 THEN RETURN 'negative'; WHEN n = 0 THEN RETURN 'zero'; END CASE;
  RETURN 'unreachable';
END $$;
SELECT s(-1), s(0);
SELECT s(1);
