CREATE FUNCTION kind(x integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  CASE x
    WHEN 1, 2 THEN RETURN 'small';
    WHEN 10 * 10 THEN RETURN 'hundred';
    ELSE RETURN 'other';
  END CASE;
END $$;
SELECT kind(1), kind(2), kind(100), kind(7), kind(NULL);
CREATE FUNCTION strict_kind(x integer) RETURNS text LANGUAGE plpgsql AS $$ BEGIN CASE WHEN x < 0 THEN RETURN 'neg'; WHEN x > 0 THEN RETURN 'pos'; END CASE; END $$;
SELECT strict_kind(-3), strict_kind(3);
SELECT strict_kind(0);
SELECT strict_kind(NULL);
CREATE FUNCTION grade(p numeric) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF p IS NULL THEN RETURN NULL;
  ELSIF p >= 90 THEN RETURN 'A';
  ELSEIF p >= 80 THEN RETURN 'B';
  ELSE
    IF p < 0 THEN RAISE EXCEPTION 'negative: %', p USING ERRCODE = 'check_violation'; END IF;
    RETURN 'C';
  END IF;
END $$;
SELECT g, grade(g) FROM (VALUES (90.0), (89.99), (80), (0), (NULL)) AS v (g) ORDER BY g;
SELECT grade(-0.01);
DO $$ BEGIN IF NULL THEN RAISE NOTICE 'yes'; ELSE RAISE NOTICE 'no'; END IF; END $$;
DO $$ BEGIN IF 1 THEN NULL; END IF; END $$;
DO $$ BEGIN IF 'maybe' THEN NULL; END IF; END $$;
DO $$ BEGIN IF EXISTS (SELECT 1 FROM generate_series(1, 3) AS g WHERE g = 2) THEN RAISE NOTICE 'found'; END IF; END $$;
DO $$ BEGIN IF (SELECT count(*) FROM generate_series(1, 3)) > 2 AND NOT false THEN RAISE NOTICE 'many'; END IF; END $$;
DO $$ DECLARE x text := 'b'; BEGIN CASE x WHEN 'a' THEN NULL; WHEN 'b' THEN RAISE NOTICE 'b'; END CASE; CASE WHEN x = 'z' THEN NULL; ELSE NULL; END CASE; RAISE NOTICE 'end'; END $$;
DO $$ BEGIN CASE 1 WHEN 'x' THEN NULL; ELSE NULL; END CASE; END $$;
CREATE FUNCTION no_end(x integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN IF x > 0 THEN RETURN 1; END IF; END $$;
SELECT no_end(1);
SELECT no_end(0);
