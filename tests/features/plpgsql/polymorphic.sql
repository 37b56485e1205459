CREATE FUNCTION larger(a anyelement, b anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$
BEGIN IF a > b THEN RETURN a; END IF; RETURN b; END $$;
SELECT larger(1, 2), larger('b'::text, 'a'), larger(1.5, 0.5), larger(date '2024-01-01', date '2023-01-01');
CREATE FUNCTION first_of(a anyarray) RETURNS anyelement AS $$ BEGIN RETURN a[1]; END $$ LANGUAGE plpgsql;
SELECT first_of(ARRAY[7, 8]), first_of(ARRAY['p', 'q']);
CREATE FUNCTION pair(a anyelement) RETURNS anyarray LANGUAGE sql AS $$ SELECT ARRAY[a, a] $$;
SELECT pair(3), pair('z'::text);
