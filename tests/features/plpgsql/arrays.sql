DO $$ DECLARE a integer[]; i integer; BEGIN
  a[1] := 10; a[2] := 20; a[5] := 50;
  RAISE NOTICE '% %', a, array_length(a, 1);
  a := a || 60;
  a := array_append(a, 70);
  FOREACH i IN ARRAY a LOOP IF i IS NOT NULL THEN RAISE NOTICE '%', i; END IF; END LOOP;
END $$;
DO $$ DECLARE a text[] := ARRAY['x', 'y']; b text[] := a; BEGIN a[1] := 'changed'; RAISE NOTICE '% %', a, b; a := '{}'; RAISE NOTICE '%', coalesce(array_length(a, 1), 0); END $$;
CREATE FUNCTION rev(a integer[]) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE out integer[] := '{}';
BEGIN
  FOR i IN REVERSE array_upper(a, 1)..array_lower(a, 1) LOOP out := out || a[i]; END LOOP;
  RETURN out;
END $$;
SELECT rev(ARRAY[1, 2, 3]);
DO $$ DECLARE a integer[]; BEGIN FOREACH a[1] IN ARRAY ARRAY[1] LOOP NULL; END LOOP; END $$;
