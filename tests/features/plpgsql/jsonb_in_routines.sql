CREATE TABLE doc (id integer PRIMARY KEY, body jsonb NOT NULL);
CREATE FUNCTION put(p_id integer, p_key text, p_val jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE b jsonb;
BEGIN
  SELECT body INTO b FROM doc WHERE id = p_id;
  IF NOT FOUND THEN
    b := jsonb_build_object(p_key, p_val);
    INSERT INTO doc VALUES (p_id, b);
  ELSIF p_val IS NULL THEN
    b := b - p_key;
    UPDATE doc SET body = b WHERE id = p_id;
  ELSE
    b := b || jsonb_build_object(p_key, p_val);
    UPDATE doc SET body = b WHERE id = p_id;
  END IF;
  RETURN b;
END $$;
SELECT put(1, 'a', '1');
SELECT put(1, 'b', '[1, {"x": null}]');
SELECT put(1, 'a', NULL);
SELECT put(2, 'n', to_jsonb(2.50));
SELECT put(3, 'bad', '{');
CREATE FUNCTION flat(j jsonb, prefix text DEFAULT '') RETURNS TABLE (path text, val text) LANGUAGE plpgsql AS $$
DECLARE k text; v jsonb; i integer := 0;
BEGIN
  IF jsonb_typeof(j) = 'object' THEN
    FOR k, v IN SELECT * FROM jsonb_each(j) LOOP RETURN QUERY SELECT * FROM flat(v, prefix || '.' || k); END LOOP;
  ELSIF jsonb_typeof(j) = 'array' THEN
    FOR v IN SELECT * FROM jsonb_array_elements(j) LOOP RETURN QUERY SELECT * FROM flat(v, prefix || '[' || i || ']'); i := i + 1; END LOOP;
  ELSE
    path := prefix; val := j #>> '{}'; RETURN NEXT;
  END IF;
END $$;
SELECT * FROM flat('{"a": [1, "x", null], "b": {"c": true, "d": {}}}');
SELECT d.id, f.* FROM doc d, flat(d.body) AS f ORDER BY d.id, f.path;
SELECT count(*) FROM flat(NULL);
DO $$ DECLARE j jsonb := '{"a": {"b": 5}}'; n integer; BEGIN n := j #>> '{a,b}'; RAISE NOTICE '% % %', n + 1, j -> 'a', j ? 'z'; j := jsonb_set(j, '{a,b}', to_jsonb(n * 2)); RAISE NOTICE '%', j; END $$;
DO $$ DECLARE r doc; BEGIN SELECT * INTO r FROM doc WHERE id = 2; RAISE NOTICE '%', to_jsonb(r); END $$;
DO $$ DECLARE s integer := 0; e text; BEGIN FOR e IN SELECT jsonb_array_elements_text('[1, 2, 30]') LOOP s := s + e::integer; END LOOP; RAISE NOTICE '%', s; END $$;
SELECT jsonb_object_agg(id, body) FROM doc;
