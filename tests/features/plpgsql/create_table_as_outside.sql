CREATE FUNCTION squares(n integer) RETURNS TABLE (i integer, sq integer) LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..n LOOP sq := i * i; squares.i := i; RETURN NEXT; END LOOP; END $$;
CREATE TABLE made AS SELECT * FROM squares(4) WHERE sq > 1;
SELECT * FROM made ORDER BY i;
CREATE FUNCTION broken(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN IF n > 2 THEN RAISE EXCEPTION 'too much: %', n; END IF; RETURN n; END $$;
CREATE TABLE never AS SELECT broken(g) AS b FROM generate_series(1, 5) AS g;
SELECT * FROM never;
CREATE TABLE fine AS SELECT broken(g) AS b FROM generate_series(1, 2) AS g;
SELECT sum(b) FROM fine;
