CREATE FUNCTION csv(n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE out text := ''; sep text := '';
BEGIN
  FOR i IN 1..n LOOP out := out || sep || format('%s:%L', i, 'v' || i); sep := ', '; END LOOP;
  RETURN out;
END $$;
SELECT csv(3), csv(0);
CREATE FUNCTION pad(t text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN lpad(upper(t), 6, '.') || rpad(t, 6, '-') || reverse(t) || initcap(t) || repeat('x', length(t)); END $$;
SELECT pad('abc');
CREATE FUNCTION vowels(t text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE c integer := 0; ch char(1);
BEGIN
  FOR i IN 1..length(t) LOOP ch := substr(t, i, 1); IF ch IN ('a', 'e', 'i', 'o', 'u') THEN c := c + 1; END IF; END LOOP;
  RETURN c;
END $$;
SELECT vowels('education'), vowels('xyz');
