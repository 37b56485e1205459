-- Functions that call each other: what one of them writes, the other one writes too.
CREATE TABLE trace (n integer, who text);
CREATE FUNCTION ping(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN RETURN 0; END $$;
CREATE FUNCTION pong(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  IF n <= 0 THEN RETURN 0; END IF;
  RETURN 1 + ping(n - 1);
END $$;
CREATE OR REPLACE FUNCTION ping(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  IF n <= 0 THEN RETURN 0; END IF;
  INSERT INTO trace VALUES (n, 'ping');
  RETURN 1 + pong(n - 1);
END $$;
SELECT ping(5);
SELECT pong(4);
SELECT n, who FROM trace ORDER BY n, who;
-- texts read before a call that changes them
CREATE TABLE note (id integer PRIMARY KEY, body text);
INSERT INTO note VALUES (1, 'as it was before the call');
CREATE FUNCTION scribble() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN UPDATE note SET body = 'as it is after the call, longer' WHERE id = 1; RETURN 1; END $$;
CREATE FUNCTION reader() RETURNS text LANGUAGE plpgsql AS $$
DECLARE before text; x integer;
BEGIN
  SELECT body INTO before FROM note WHERE id = 1;
  x := scribble();
  RETURN before;
END $$;
SELECT reader();
CREATE FUNCTION peek() RETURNS text STABLE LANGUAGE plpgsql AS $$
DECLARE now_it_is text;
BEGIN SELECT body INTO now_it_is FROM note WHERE id = 1; RETURN now_it_is; END $$;
CREATE FUNCTION two_readers() RETURNS text LANGUAGE plpgsql AS $$
DECLARE before text; other text;
BEGIN
  SELECT body INTO before FROM note WHERE id = 1;
  other := peek();
  RETURN before || ' | ' || other;
END $$;
SELECT two_readers();
