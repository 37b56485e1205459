CREATE TABLE t (id integer PRIMARY KEY, j jsonb);
INSERT INTO t VALUES (1, '{}'), (2, NULL), (3, '[1, 2]'), (4, '{"a": {"b": 1}}');
UPDATE t SET j['a']['b'] = '2' WHERE id IN (1, 2, 4);
SELECT * FROM t ORDER BY id;
UPDATE t SET j['x'][2]['y'] = '"deep"' WHERE id = 1;
UPDATE t SET j[5] = 'true' WHERE id = 3;
UPDATE t SET j[-1] = '{"z": 1}' WHERE id = 3;
UPDATE t SET j = NULL WHERE id = 2;
UPDATE t SET j[1]['k'] = NULL WHERE id = 2;
SELECT * FROM t ORDER BY id;
UPDATE t SET j['a']['b'] = '3', j['a']['c'] = '4' WHERE id = 4;
SELECT j, j['a']['c'], j['a']['c']['d'], j['none'] FROM t WHERE id = 4;
UPDATE t SET j['a'] = to_jsonb(id), j['n'] = to_jsonb('text'::text) WHERE id = 4;
SELECT j FROM t WHERE id = 4;
UPDATE t SET j['a']['b'] = '1' WHERE id = 4;
UPDATE t SET j['a'] = '1' WHERE id = 3;
UPDATE t SET j[-9] = '1' WHERE id = 3;
UPDATE t SET j[NULL] = '1' WHERE id = 3;
UPDATE t SET j['a'] = 1 WHERE id = 4;
UPDATE t SET j['a':'b'] = '1' WHERE id = 4;
UPDATE t SET j[1.5] = '1' WHERE id = 3;
UPDATE t SET j['a'] = 'no json' WHERE id = 4;
SELECT ('{"a": {"b": [1, 2]}}'::jsonb)['a']['b'][1], ('[1]'::jsonb)['x'], ('1'::jsonb)[0], ('{"a": 1}'::jsonb)[NULL];
SELECT ('{"a": 1}'::jsonb)['a':'b'];
SELECT j['a'] FROM t WHERE j['n'] = '"text"';
CREATE FUNCTION build(n integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  d jsonb;
BEGIN
  FOR i IN 0..n LOOP
    d['list'][i] := to_jsonb(i * 10);
    d['at']['k' || i] = jsonb_build_object('i', i);
  END LOOP;
  d['list'][0] := NULL;
  RETURN d;
END $$;
SELECT build(2);
DROP FUNCTION build(integer);
DROP TABLE t;
CREATE TABLE u (id integer, j jsonb, a integer[]);
INSERT INTO u (id, j['a']) VALUES (1, '2');
INSERT INTO u (id, j[1]) SELECT 3, '5'::jsonb;
INSERT INTO u (id, j['a'], j['b']) VALUES (4, '1', '{"x": 2}'), (6, NULL, '[]');
INSERT INTO u (id, a[2]) VALUES (5, 7);
INSERT INTO u (id, j['a']) VALUES (7, 8);
SELECT * FROM u ORDER BY id;
DROP TABLE u;
