SELECT json_agg(a), jsonb_agg(a) FROM (VALUES (ARRAY[1,2]), (ARRAY[3])) v(a);
SELECT json_agg(a ORDER BY a), jsonb_agg(DISTINCT a) FROM (VALUES (ARRAY['x','y']), (ARRAY['b']), (NULL)) v(a);
SELECT json_agg(a) FILTER (WHERE a[1] > 1) FROM (VALUES (ARRAY[1,2]), (ARRAY[3])) v(a);
SELECT jsonb_object_agg(k, a), json_object_agg(k, a) FROM (VALUES ('p', ARRAY[1,2]), ('q', ARRAY[3])) v(k, a);
SELECT json_agg(array_to_json(a)), json_agg(to_json(a)), jsonb_agg(to_jsonb(a)) FROM (VALUES (ARRAY[1,2]), (ARRAY[3])) v(a);
SELECT k, json_agg(a) FROM (VALUES (1, ARRAY[1,2]), (2, ARRAY[3]), (1, '{}')) v(k, a) GROUP BY k ORDER BY k;
SELECT json_agg(j) FROM (VALUES (ARRAY['{"a" : 1}'::json, '2'])) v(j);
SELECT json_agg(t) FROM (SELECT 1 AS a, ARRAY[1,2] AS b) t;
SELECT json_agg(a) FROM (VALUES (ARRAY[1])) v(a) WHERE false;
