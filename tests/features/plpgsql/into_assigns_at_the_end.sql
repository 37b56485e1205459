-- a statement that fails assigns none of its targets
CREATE TABLE p (id integer PRIMARY KEY);
CREATE TABLE t (id integer PRIMARY KEY, p integer REFERENCES p, s text, a integer[]);
INSERT INTO p VALUES (1);
INSERT INTO t VALUES (1, 1, 'one', '{1}'), (2, 1, 'two', '{2}');
CREATE FUNCTION f(way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  n integer := 0;
  s text := 'before';
  a integer[] := '{0}';
BEGIN
  BEGIN
    CASE way
      WHEN 'many' THEN SELECT t.id, t.s, t.a INTO STRICT n, s, a FROM t ORDER BY id;
      WHEN 'none' THEN SELECT t.id, t.s, t.a INTO STRICT n, s, a FROM t WHERE id = 9;
      WHEN 'one' THEN SELECT t.id, t.s, t.a INTO STRICT n, s, a FROM t WHERE id = 2;
      WHEN 'key' THEN INSERT INTO t VALUES (3, 77, 'three', '{3}') RETURNING t.id, t.s, t.a INTO n, s, a;
      WHEN 'insert' THEN INSERT INTO t VALUES (3, 1, 'three', '{3}') ON CONFLICT (id) DO UPDATE SET s = t.s || '!' RETURNING t.id, t.s, t.a INTO n, s, a;
      WHEN 'update' THEN UPDATE t SET s = t.s || '?' RETURNING t.id, t.s, t.a INTO n, s, a;
      WHEN 'lost' THEN UPDATE t SET s = 'x' WHERE id = 9 RETURNING t.id, t.s, t.a INTO n, s, a;
      WHEN 'delete' THEN DELETE FROM p RETURNING id, 'gone' INTO n, s;
      ELSE SELECT t.id INTO n FROM t ORDER BY id DESC;
    END CASE;
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'caught %', SQLSTATE;
  END;
  RETURN format('%s %s %s', n, s, a);
END $$;
SELECT f('many');
SELECT f('none');
SELECT f('one');
SELECT f('key');
SELECT f('insert');
SELECT f('insert');
SELECT f('update');
SELECT f('lost');
SELECT f('delete');
SELECT f('else');
SELECT * FROM t ORDER BY id;
