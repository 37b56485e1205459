CREATE TABLE m (id integer PRIMARY KEY, k text, v numeric(6, 2));
INSERT INTO m VALUES (1, 'a', 1), (2, 'a', 2.5), (3, 'b', NULL), (4, 'b', 4), (5, NULL, 5);
CREATE FUNCTION running() RETURNS TABLE (id integer, k text, total numeric) LANGUAGE plpgsql AS $$
DECLARE r record; t numeric := 0;
BEGIN
  FOR r IN SELECT m.id, m.k, m.v FROM m ORDER BY m.id LOOP
    t := t + coalesce(r.v, 0);
    id := r.id; k := r.k; total := t;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM running();
SELECT k, max(total) FROM running() GROUP BY k ORDER BY k;
SELECT r.id FROM running() AS r JOIN m USING (id) WHERE r.total > 3 ORDER BY id DESC LIMIT 2;
CREATE FUNCTION upto(n integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$
BEGIN
  IF n IS NULL THEN RETURN; END IF;
  FOR i IN 1..n LOOP RETURN NEXT i; END LOOP;
  RETURN QUERY SELECT -i FROM generate_series(1, 2) AS i;
END $$;
SELECT * FROM upto(2);
SELECT count(*) FROM upto(NULL);
SELECT count(*), sum(u) FROM upto(0) AS u;
SELECT upto(1);
SELECT m.id, u FROM m, upto(m.id) AS u WHERE m.id < 3 ORDER BY 1, 2;
CREATE FUNCTION both(OUT a integer, OUT b text) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
  a := 1; b := 'x'; RETURN NEXT;
  a := NULL; RETURN NEXT;
  RETURN;
END $$;
SELECT * FROM both();
SELECT b, a FROM both() WHERE a IS NULL;
CREATE FUNCTION whole(p text) RETURNS SETOF m LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM m WHERE k IS NOT DISTINCT FROM p ORDER BY id; IF NOT FOUND THEN RAISE NOTICE 'none for %', p; END IF; END $$;
SELECT * FROM whole('b');
SELECT id, v FROM whole(NULL);
SELECT * FROM whole('zzz');
CREATE FUNCTION bad() RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
CREATE FUNCTION bad() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT 1; END $$;
