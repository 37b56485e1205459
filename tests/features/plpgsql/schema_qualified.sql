CREATE SCHEMA app;
CREATE TABLE app.log (id serial PRIMARY KEY, line text NOT NULL);
CREATE FUNCTION app.write(l text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE r app.log%ROWTYPE; n app.log.id%TYPE; BEGIN
  INSERT INTO app.log (line) VALUES (l) RETURNING * INTO r;
  n := r.id * 10;
  RETURN n;
END $$;
SELECT app.write('one'), app.write('two');
CREATE FUNCTION app.lines() RETURNS SETOF app.log LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM app.log ORDER BY id; END $$;
SELECT * FROM app.lines();
DO $$ DECLARE l record; BEGIN FOR l IN SELECT * FROM app.lines() LOOP RAISE NOTICE '% %', l.id, l.line; END LOOP; PERFORM app.write('three'); EXECUTE 'UPDATE app.log SET line = upper(line) WHERE id = $1' USING 1; END $$;
SELECT line FROM app.log ORDER BY id;
SELECT app.write(NULL);
SELECT write('x');
DROP FUNCTION app.lines();
SELECT * FROM app.lines();
