CREATE FUNCTION total(VARIADIC n numeric[]) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE s numeric := 0; v numeric;
BEGIN FOREACH v IN ARRAY n LOOP s := s + v; END LOOP; RETURN s; END $$;
SELECT total(1), total(1, 2, 3.5), total(VARIADIC ARRAY[4, 5]);
CREATE FUNCTION joined(sep text, VARIADIC parts text[]) RETURNS text AS $$ SELECT array_to_string(parts, sep) $$ LANGUAGE sql;
SELECT joined('-', 'a', 'b', 'c'), joined('+', 'z');
SELECT total();
