CREATE FUNCTION bubble(a integer[]) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE n integer := coalesce(array_length(a, 1), 0); t integer; swapped boolean;
BEGIN
  LOOP
    swapped := false;
    FOR i IN 1..n - 1 LOOP
      IF a[i] > a[i + 1] THEN t := a[i]; a[i] := a[i + 1]; a[i + 1] := t; swapped := true; END IF;
    END LOOP;
    EXIT WHEN NOT swapped;
    n := n - 1;
  END LOOP;
  RETURN a;
END $$;
SELECT bubble(ARRAY[3, 1, 2]), bubble('{}'), bubble(NULL), bubble(ARRAY[5]), bubble(ARRAY[2, 2, -1, 2147483647]);
CREATE FUNCTION bsearch(a integer[], x integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE lo integer := 1; hi integer := cardinality(a); m integer;
BEGIN
  WHILE lo <= hi LOOP
    m := (lo + hi) / 2;
    IF a[m] = x THEN RETURN m; ELSIF a[m] < x THEN lo := m + 1; ELSE hi := m - 1; END IF;
  END LOOP;
  RETURN NULL;
END $$;
SELECT x, bsearch(ARRAY[1, 3, 5, 7], x) FROM generate_series(0, 8) AS x ORDER BY x;
CREATE FUNCTION sieve(n integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$
DECLARE c boolean[] := '{}'; j integer;
BEGIN
  FOR i IN 2..n LOOP c[i] := true; END LOOP;
  FOR i IN 2..n LOOP
    CONTINUE WHEN NOT c[i];
    RETURN NEXT i;
    j := i * i;
    WHILE j <= n LOOP c[j] := false; j := j + i; END LOOP;
  END LOOP;
END $$;
SELECT array_agg(s ORDER BY s) FROM sieve(40) AS s;
CREATE FUNCTION merged(a text[], b text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE r text[] := '{}'; i integer := 1; j integer := 1;
BEGIN
  WHILE i <= cardinality(a) OR j <= cardinality(b) LOOP
    IF j > cardinality(b) OR (i <= cardinality(a) AND a[i] <= b[j]) THEN r := r || a[i]; i := i + 1; ELSE r := array_append(r, b[j]); j := j + 1; END IF;
  END LOOP;
  RETURN r;
END $$;
SELECT merged('{a,c,e}', '{b,c,z}'), merged('{}', '{x}'), merged('{a}', '{}');
DO $$ DECLARE a integer[]; BEGIN a[1] := 5; a[3] := 7; RAISE NOTICE '% % %', a, a[2] IS NULL, cardinality(a); END $$;
DO $$ DECLARE a text[] := '{x}'; BEGIN a := a || '{y,z}'::text[]; a := array_remove(a, 'x'); RAISE NOTICE '% %', a, array_to_string(a, '-'); END $$;
DO $$ DECLARE a integer[] := '{1,2}'; BEGIN a['x'] := 3; END $$;
DO $$ DECLARE a integer[] := '{1,2}'; BEGIN a[1] := 'x'; END $$;
DO $$ DECLARE a integer := 5; BEGIN a[1] := 1; END $$;
