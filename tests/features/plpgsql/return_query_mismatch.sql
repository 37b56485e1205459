CREATE FUNCTION f() RETURNS TABLE (a integer, b text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 1; END $$;
SELECT * FROM f();
CREATE FUNCTION g() RETURNS TABLE (a integer, b text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 1::bigint, 'x'::text; END $$;
SELECT * FROM g();
CREATE FUNCTION h() RETURNS TABLE (a integer, b text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 1, 'x'::text; RETURN QUERY SELECT 2, 'y'::text; a := 3; b := 'z'; RETURN NEXT; END $$;
SELECT * FROM h() ORDER BY a;
