CREATE TABLE emp (id integer PRIMARY KEY, name text, salary integer);
INSERT INTO emp VALUES (1, 'ann', 100), (2, 'bob', 200);
CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  r record;
  e emp%ROWTYPE;
  n emp.name%TYPE := 'nobody';
  copy emp;
BEGIN
  SELECT id, name INTO r FROM emp WHERE id = 1;
  SELECT * INTO e FROM emp WHERE id = 2;
  n := n || '/' || r.name || '/' || e.name;
  copy := e;
  copy.salary := copy.salary + 1;
  e.name := NULL;
  RETURN n || '/' || copy.name || '/' || copy.salary || '/' || coalesce(e.name, 'null');
END $$;
SELECT f();
DO $$ DECLARE r record; BEGIN r := ROW(1, 'x'::text); RAISE NOTICE '% % %', r.f1, r.f2, r; END $$;
DO $$ DECLARE e emp := ROW(5, 'five', 55); BEGIN RAISE NOTICE '%', e; e := NULL; RAISE NOTICE '% %', e.id IS NULL, e IS NULL; END $$;
DO $$ DECLARE r record; BEGIN RAISE NOTICE '%', r.x; END $$;
DO $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; RAISE NOTICE '%', r.b; END $$;
CREATE FUNCTION describe(e emp) RETURNS text AS $$ BEGIN RETURN e.name || ' earns ' || e.salary; END $$ LANGUAGE plpgsql;
SELECT describe(emp) FROM emp ORDER BY id;
SELECT describe(emp.*) FROM emp ORDER BY id;
SELECT describe(ROW(9, 'zed', 1));
