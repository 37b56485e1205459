-- Type json: kept as it was written, once it has been checked.
CREATE TABLE doc (id integer PRIMARY KEY, body json NOT NULL DEFAULT '{}', tags json);
INSERT INTO doc VALUES (1, '{"a" : 1,  "b": [1, 2]}', '["x", "y"]'), (2, '  {"a": 2}', NULL);
INSERT INTO doc (id) VALUES (3);
INSERT INTO doc VALUES (4, '{"a": }', NULL);
INSERT INTO doc VALUES (4, 'nothing', NULL);
INSERT INTO doc VALUES (4, '{"a": 1}'::text, NULL);
INSERT INTO doc VALUES (4, '{"a": 1}'::jsonb, '[ ]'::text::json);
SELECT * FROM doc ORDER BY id;
SELECT id, body ->> 'a' AS a, body -> 'b' ->> 1 AS b, body #>> '{b,0}' AS c FROM doc ORDER BY id;
SELECT pg_typeof(body) FROM doc WHERE id = 1;
SELECT '{"a": [1,2,{"b": null}]}'::json, '"text"'::json, 'null'::json, '12.50'::json;
SELECT '{'::json;
SELECT json '{"x": 1}' ->> 'x';
SELECT json_array_length('[1,2,3]'), json_typeof('{"a":1}'), json_typeof('[1]'::json);
SELECT value FROM json_array_elements_text('["b", "a"]');
SELECT e ->> 'n' AS n FROM json_array_elements('[{"n": 1}, {"n": 2}]') e;
SELECT key, value FROM json_each_text('{"k": "v", "n": 5}');
SELECT * FROM json_object_keys('{"b": 1, "a": 2}');
SELECT * FROM json_to_record('{"a": 1, "b": "x"}') AS r (a integer, b text);
SELECT * FROM json_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') AS r (a integer, b text) ORDER BY a;
SELECT id FROM json_populate_record(NULL::doc, '{"id": 5, "body": {"x": 1}}');
SELECT id FROM json_populate_recordset(NULL::doc, '[{"id": 7}, {"id": 8}]') ORDER BY id;
SELECT json_extract_path_text('{"a": {"b": "deep"}}', 'a', 'b');
UPDATE doc SET body = json_build_object('id', id, 'tags', tags) WHERE id = 1 RETURNING body;
SELECT row_to_json(d) FROM doc d WHERE id = 2;
SELECT to_jsonb(d) FROM doc d WHERE id = 2;
SELECT json_agg(body ORDER BY id) FROM doc WHERE id <= 2;
SELECT body::jsonb @> '{"a": 2}' AS has FROM doc WHERE id = 2;
SELECT body::text || '!' FROM doc WHERE id = 3;
-- in routines
CREATE FUNCTION save(p_doc json, p_note json DEFAULT '{"none": true}') RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_item json;
  v_sum numeric := 0;
  v_result json;
BEGIN
  FOR v_item IN SELECT * FROM json_array_elements(p_doc -> 'items') LOOP
    v_sum := v_sum + (v_item ->> 'price')::numeric * coalesce((v_item ->> 'count')::integer, 1);
  END LOOP;
  IF p_doc ->> 'name' IS NULL THEN
    RAISE EXCEPTION 'name is missing in %', p_doc;
  END IF;
  INSERT INTO doc VALUES ((p_doc ->> 'id')::integer, p_doc, p_note);
  v_result := json_build_object('sum', v_sum, 'note', p_note);
  RETURN v_result;
END $$;
SELECT save('{"id": 10, "name": "n", "items": [{"price": 1.5, "count": 2}, {"price": 4}]}');
SELECT save('{"id": 11}');
SELECT save('{"id": 11, "name": "x", "items": []}', p_note => '{"z" : 1}'::json);
SELECT save('{no json}');
SELECT id, body, tags FROM doc WHERE id >= 10 ORDER BY id;
DO $$ DECLARE j json; BEGIN
  j := '{"a": 5}';
  RAISE NOTICE '% %', j, j ->> 'a';
  j := '{"a": ';
END $$;
CREATE VIEW docs AS SELECT id, body ->> 'a' AS a, tags FROM doc;
SELECT * FROM docs WHERE id = 1;
DROP VIEW docs;
ALTER TABLE doc ALTER COLUMN tags TYPE jsonb USING tags::jsonb;
SELECT tags FROM doc WHERE id = 1;
