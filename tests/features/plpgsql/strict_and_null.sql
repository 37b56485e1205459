CREATE FUNCTION f(a integer, b integer) RETURNS integer LANGUAGE plpgsql STRICT AS $$ BEGIN RETURN coalesce(a, 0) + coalesce(b, 0); END $$;
SELECT f(1, 2), f(NULL, 2), f(1, NULL);
CREATE FUNCTION g(a integer) RETURNS SETOF integer LANGUAGE plpgsql RETURNS NULL ON NULL INPUT AS $$ BEGIN RETURN NEXT a; RETURN NEXT a; END $$;
SELECT * FROM g(3);
SELECT * FROM g(NULL);
CREATE FUNCTION h(a integer, OUT x integer, OUT y integer) LANGUAGE plpgsql STRICT AS $$ BEGIN x := a; y := a; END $$;
SELECT * FROM h(NULL);
