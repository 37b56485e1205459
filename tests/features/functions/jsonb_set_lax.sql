SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL), jsonb_set_lax('{"a": 1}', '{b}', '2'), jsonb_set_lax('{"a": 1}', '{b}', '2', false);
SELECT jsonb_set_lax('{"a": 1, "b": 2}', '{a}', NULL, true, 'delete_key'), jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'return_target'), jsonb_set_lax('{"a": 1}', '{b}', NULL, true, 'use_json_null'), jsonb_set_lax('{"a": 1}', '{b}', NULL, false, 'use_json_null');
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, null_value_treatment => 'return_target');
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'raise_exception');
SELECT jsonb_set_lax('{"a": 1}', '{a}', '2', true, 'raise_exception');
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'no_such_treatment');
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, NULL);
SELECT jsonb_set_lax(NULL, '{a}', NULL), jsonb_set_lax('{}', NULL, '1'), jsonb_set_lax('{}', '{a}', '1', NULL);
