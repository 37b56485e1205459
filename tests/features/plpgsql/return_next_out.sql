CREATE FUNCTION series(a integer, b integer, OUT n integer, OUT sq bigint) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN a..b LOOP n := i; sq := i::bigint * i; RETURN NEXT; END LOOP;
  RETURN;
END $$;
SELECT * FROM series(1, 4) ORDER BY n;
SELECT sum(sq), max(n) FROM series(1, 10);
SELECT s.n FROM series(1, 3) AS s WHERE s.sq >= 4 ORDER BY 1;
SELECT x, y FROM series(2, 3) AS s(x, y) ORDER BY x;
SELECT series(5, 6);
