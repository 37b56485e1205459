CREATE TABLE point2 (x integer, y integer);
INSERT INTO point2 VALUES (1, 2), (3, 4);
CREATE FUNCTION total(p point2) RETURNS integer LANGUAGE sql AS $$ SELECT p.x + p.y $$;
SELECT total(p) FROM point2 p ORDER BY 1;
CREATE FUNCTION flipped(p point2) RETURNS point2 LANGUAGE plpgsql AS $$
DECLARE r point2;
BEGIN r.x := p.y; r.y := p.x; RETURN r; END $$;
SELECT (flipped(p)).x, (flipped(p)).y FROM point2 p ORDER BY 1;
SELECT * FROM flipped(ROW(7, 8));
SELECT * FROM flipped(ROW(7, 8)::point2);
SELECT flipped(ROW(7, 8));
CREATE FUNCTION none() RETURNS point2 LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
SELECT * FROM none();
CREATE FUNCTION made(a integer) RETURNS point2 LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(a, a * 2); END $$;
SELECT * FROM made(5);
SELECT (made(6)).*;
DO $$ DECLARE p point2; BEGIN p := made(9); RAISE NOTICE '% % %', p.x, p.y, total(p); SELECT * INTO p FROM made(1); RAISE NOTICE '%', p; END $$;
