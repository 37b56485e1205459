CREATE TYPE kind AS ENUM ('debit', 'credit');
CREATE TABLE lines (id integer PRIMARY KEY, code varchar(6), amount numeric(10,2), kind kind, tags text[], extra jsonb, on_day date, ok boolean);
SELECT * FROM jsonb_to_recordset('[{"a": 1, "b": "x"}, {"b": null, "c": 2}, {}]') AS t(a integer, b text);
SELECT * FROM jsonb_to_recordset('[{"a": "1", "b": {"k": [1, 2]}, "c": [1, null, 3], "d": "2024-02-29", "e": 1.255, "f": true}]') AS t(a bigint, b jsonb, c integer[], d date, e numeric(5,2), f boolean);
SELECT * FROM jsonb_to_recordset('[{"a": {"k": 1}, "b": [1, "x"], "c": 5}]') AS t(a text, b text, c text);
SELECT * FROM jsonb_to_recordset('[{"A b": 1, "c''d": 2}]') AS t("A b" integer, "c'd" integer);
SELECT * FROM jsonb_to_recordset('[]') AS t(a integer);
SELECT * FROM jsonb_to_recordset(NULL) AS t(a integer);
SELECT * FROM jsonb_to_record('{"a": 1, "b": ["x", "y"]}') AS t(a integer, b text[]);
SELECT * FROM jsonb_to_record(NULL) AS t(a integer, b text);
SELECT * FROM jsonb_to_record('{"a": null, "b": null}') AS t(a jsonb, b integer[]);
-- what does not fit
SELECT * FROM jsonb_to_recordset('{"a": 1}') AS t(a integer);
SELECT * FROM jsonb_to_recordset('5') AS t(a integer);
SELECT * FROM jsonb_to_recordset('[1]') AS t(a integer);
SELECT * FROM jsonb_to_record('[1]') AS t(a integer);
SELECT * FROM jsonb_to_record('"x"') AS t(a integer);
SELECT * FROM jsonb_to_record('{"a": "x"}') AS t(a integer);
SELECT * FROM jsonb_to_record('{"a": 5}') AS t(a integer[]);
SELECT * FROM jsonb_to_record('{"a": "toolong"}') AS t(a varchar(3));
SELECT * FROM jsonb_to_record('{"a": 123456}') AS t(a numeric(5,2));
SELECT * FROM jsonb_to_record('{"a": 1}') AS t(a nothing);
-- joined, and in changes
INSERT INTO lines SELECT x.id, x.code, x.amount, x.kind, x.tags, x.extra, x.on_day, x.ok
  FROM jsonb_to_recordset('[{"id": 1, "code": "cash", "amount": "10.555", "kind": "debit", "tags": ["a", null]}, {"id": 2, "code": "bank", "amount": 7, "kind": "credit", "extra": {"z": 1}, "on_day": "2024-01-02", "ok": false}]')
  AS x(id integer, code text, amount numeric, kind kind, tags text[], extra jsonb, on_day date, ok boolean);
SELECT * FROM lines ORDER BY id;
SELECT l.id, e.z FROM lines l, jsonb_to_record(l.extra) AS e(z integer) ORDER BY l.id;
SELECT l.id, e.z FROM lines l LEFT JOIN LATERAL jsonb_to_recordset(jsonb_build_array(coalesce(l.extra, '{}'))) AS e(z integer) ON true ORDER BY l.id;
UPDATE lines SET amount = x.amount FROM jsonb_to_recordset('[{"id": 2, "amount": 8}]') AS x(id integer, amount numeric) WHERE x.id = lines.id;
SELECT id, amount FROM lines ORDER BY id;
-- rows of a table
SELECT * FROM jsonb_populate_record(NULL::lines, '{"id": 9, "code": "x", "amount": 1.5, "kind": "debit", "unknown": 1}');
INSERT INTO lines SELECT * FROM jsonb_populate_recordset(NULL::lines, '[{"id": 3, "code": "c3", "tags": ["q"]}, {"id": 4, "ok": true, "extra": [1]}]');
SELECT * FROM lines ORDER BY id;
SELECT p.code, p.id FROM jsonb_populate_recordset(NULL::public.lines, '[{"id": 3}, {"id": 4, "code": "four"}]') AS p ORDER BY p.id;
SELECT * FROM jsonb_populate_record(NULL::lines, '{"code": "longer than six"}');
SELECT * FROM jsonb_populate_record(NULL::lines, '[]');
CREATE FUNCTION post(o jsonb) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE v numeric := 0; r record; item text := 'i'; row text := 'r';
BEGIN
  FOR r IN SELECT * FROM jsonb_to_recordset(o -> 'lines') AS t(code text, amount numeric) LOOP
    v := v + r.amount;
  END LOOP;
  INSERT INTO lines (id, code) SELECT id, code FROM jsonb_populate_record(NULL::lines, o);
  RETURN v;
END $$;
SELECT post('{"id": 20, "code": "p", "lines": [{"code": "a", "amount": 1.5}, {"code": "b", "amount": 2}]}');
SELECT id, code FROM lines WHERE id = 20;
CREATE FUNCTION sums(p jsonb) RETURNS TABLE (kind text, total numeric) LANGUAGE sql AS $$ SELECT t.kind, sum(t.amount) FROM jsonb_to_recordset(p) AS t(kind text, amount numeric) GROUP BY t.kind ORDER BY t.kind $$;
SELECT * FROM sums('[{"kind": "a", "amount": 1}, {"kind": "b", "amount": 2}, {"kind": "a", "amount": 3}]');
