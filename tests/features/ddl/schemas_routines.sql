CREATE SCHEMA math;
CREATE FUNCTION math.twice(x integer) RETURNS integer LANGUAGE sql AS 'SELECT x * 2';
CREATE FUNCTION twice(x integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN math.twice(x) + 1; END $$;
SELECT math.twice(4), twice(4), public.twice(5);
CREATE FUNCTION math.rows(n integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT g FROM generate_series(1, n) AS g; END $$;
SELECT * FROM math.rows(3);
SELECT sum(rows) FROM math.rows(4);
CREATE TABLE math.results (id integer PRIMARY KEY, v integer);
CREATE PROCEDURE math.store(i integer, x integer) LANGUAGE plpgsql AS $$
DECLARE r math.results%ROWTYPE; w math.results.v%TYPE; BEGIN
  INSERT INTO math.results VALUES (i, x) RETURNING * INTO r;
  w := r.v + 1; UPDATE math.results SET v = w WHERE id = r.id;
END $$;
CALL math.store(1, 10);
SELECT * FROM math.results;
SELECT math.missing(1);
CREATE FUNCTION math.check_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', TG_TABLE_SCHEMA, TG_TABLE_NAME; NEW.v := NEW.v * 100; RETURN NEW; END $$;
CREATE TRIGGER c BEFORE INSERT ON math.results FOR EACH ROW EXECUTE FUNCTION math.check_row();
INSERT INTO math.results VALUES (2, 5) RETURNING *;
DROP TRIGGER c ON math.results;
DROP FUNCTION math.twice(integer);
SELECT math.twice(1);
SELECT twice(1);
DROP SCHEMA math CASCADE;
