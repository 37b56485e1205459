-- to_json(), row_to_json() and what else makes texts of type json.
CREATE TABLE items (id int PRIMARY KEY, name text, price numeric(8,2), ok boolean, at timestamp, tags text[], doc jsonb);
INSERT INTO items VALUES (1, 'a "b"', 1.50, true, '2024-07-01 12:00', '{x,y}', '{"k": [1, 2], "a": null}'), (2, NULL, NULL, false, NULL, NULL, NULL), (3, E'line\nbreak\ttab', 0.10, NULL, '2024-01-01', '{}', '"s"');
SELECT row_to_json(items) FROM items ORDER BY id;
SELECT row_to_json(items, true) FROM items ORDER BY id;
SELECT row_to_json(r) FROM (SELECT id, name FROM items) r ORDER BY id;
SELECT row_to_json(ROW(1, 'x', NULL, 2.5));
SELECT to_json(items) FROM items ORDER BY id;
SELECT to_json(1), to_json(1.50::numeric), to_json('te"xt'::text), to_json(true), to_json(NULL::int), to_json(date '2024-07-01'), to_json(timestamp '2024-07-01 12:00:00.5'), to_json(1.5e300::float8), to_json('NaN'::float8), to_json(interval '1 day');
SELECT to_json(timestamptz '2024-07-01 12:00+02'), to_json('{"b": 1, "a": [true, null]}'::jsonb), to_json(ARRAY[1, NULL, 3]), to_json(ARRAY['a', 'b"c']), to_json('{}'::int[]), array_to_json(ARRAY[1.5, 2]);
SELECT json_build_object('id', id, 'row', items, 'tags', tags) FROM items ORDER BY id;
SELECT json_build_object(1, 2, 'b', true, 'n', NULL, 'd', date '2024-07-01'), json_build_object(), json_build_array(1, 'a', NULL, true, ARRAY[1, 2]), json_build_array();
SELECT json_build_object('a');
SELECT json_build_object(NULL, 1);
SELECT json_build_object(ARRAY[1], 1);
SELECT json_agg(id ORDER BY id), json_agg(name ORDER BY id), json_agg(price ORDER BY id) FROM items;
SELECT json_agg(items ORDER BY id) FROM items;
SELECT json_agg(r ORDER BY r.id) FROM (SELECT id, ok FROM items) r;
SELECT json_agg(json_build_object('id', id) ORDER BY id) FROM items;
SELECT json_agg(id) FROM items WHERE id > 10;
SELECT json_object_agg(id, name ORDER BY id) FROM items;
SELECT json_object_agg(name, id) FROM items WHERE name IS NULL;
SELECT ok, json_agg(id ORDER BY id) FROM items GROUP BY ok ORDER BY ok;
SELECT row_to_json(items)->>'name', row_to_json(items)->'doc'->'k', row_to_json(items)::jsonb->'price', row_to_json(items)::text FROM items ORDER BY id;
SELECT row_to_json(r) FROM (SELECT id, (SELECT json_agg(i.id ORDER BY i.id) FROM items i WHERE i.id <= o.id) AS upto, to_json(tags) AS tags FROM items o) r ORDER BY r.id;
CREATE TABLE audit (id serial, what text, old jsonb, new jsonb, plain text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO audit (what, old, plain) VALUES (TG_OP, row_to_json(OLD), row_to_json(OLD)::text);
    RETURN OLD;
  END IF;
  INSERT INTO audit (what, new, plain) VALUES (TG_OP, to_json(NEW), to_json(NEW)::text);
  RETURN NEW;
END $$;
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON items FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO items (id, name) VALUES (4, 'four');
UPDATE items SET price = 4 WHERE id = 4;
DELETE FROM items WHERE id = 4;
SELECT what, old, new, plain FROM audit ORDER BY id;
DO $$
DECLARE
  r record;
  t text;
BEGIN
  FOR r IN SELECT id, name FROM items ORDER BY id LOOP
    t := row_to_json(r);
    RAISE NOTICE '% %', t, to_json(r.name);
  END LOOP;
  FOR r IN EXECUTE 'SELECT id, ok FROM items ORDER BY id' LOOP
    RAISE NOTICE '%', row_to_json(r);
  END LOOP;
END $$;
