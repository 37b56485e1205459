CREATE SCHEMA app;
CREATE SCHEMA aud;
CREATE TABLE app.item (id integer PRIMARY KEY, name text, qty integer);
CREATE TABLE aud.log (n integer GENERATED ALWAYS AS IDENTITY, what text, cnt integer, total integer);
SET search_path = app, aud;
CREATE FUNCTION aud.g() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO aud.log (what, cnt, total) SELECT TG_OP || ' ' || string_agg(o.name || '>' || n.name, ',' ORDER BY n.id), count(*), sum(n.qty - o.qty)
    FROM newrows n JOIN oldrows o ON o.id = n.id JOIN app.item i ON i.id = n.id;
  RETURN NULL;
END $$;
CREATE TRIGGER tu AFTER UPDATE ON item REFERENCING OLD TABLE AS oldrows NEW TABLE AS newrows FOR EACH STATEMENT EXECUTE FUNCTION aud.g();
INSERT INTO item VALUES (1, 'a', 3), (2, 'b', 4), (3, 'c', 5);
UPDATE item SET qty = qty + 1, name = name || 'x' WHERE id < 3;
CREATE TABLE app.newrows (z integer);
UPDATE item SET qty = qty + 1 WHERE id < 3;
CREATE TABLE public.oldrows (z integer);
UPDATE item SET qty = qty + 10 WHERE id < 3;
SELECT what, cnt, total FROM aud.log ORDER BY n;
CREATE FUNCTION aud.h() RETURNS trigger LANGUAGE plpgsql SET search_path = aud AS $$
DECLARE r record; c integer;
BEGIN
  FOR r IN SELECT * FROM gone ORDER BY id LOOP
    INSERT INTO log (what, cnt, total) VALUES ('del ' || r.name, r.id, r.qty);
  END LOOP;
  EXECUTE 'SELECT count(*) FROM gone WHERE id > $1' INTO c USING 1;
  RAISE NOTICE 'gone %', c;
  FOR r IN EXECUTE 'SELECT id FROM gone ORDER BY id' LOOP RAISE NOTICE 'row %', r.id; END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER td AFTER DELETE ON item REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION aud.h();
DELETE FROM item WHERE id >= 2;
RESET search_path;
DELETE FROM app.item;
SELECT what, cnt, total FROM aud.log ORDER BY n;
CREATE TABLE t (id integer PRIMARY KEY, v text);
CREATE TABLE kept (op text, id integer, v text, was text);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO kept SELECT %L, n.id, n.v, o.v FROM "New Rows" n LEFT JOIN olds o USING (id)', TG_OP);
  RETURN NULL;
END $$;
CREATE TRIGGER tt AFTER UPDATE ON t REFERENCING NEW TABLE AS "New Rows" OLD TABLE AS olds FOR EACH STATEMENT EXECUTE FUNCTION keep();
INSERT INTO t VALUES (1, 'a'), (2, 'b');
UPDATE t SET v = v || v;
UPDATE t SET v = 'z' WHERE id = 2;
SELECT * FROM kept ORDER BY id, v;
CREATE FUNCTION helper() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN EXECUTE 'SELECT count(*) FROM olds' INTO n; RETURN n; END $$;
CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', helper(); RETURN NULL; END $$;
UPDATE t SET v = 'y';
CREATE FUNCTION row_of() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE s bigint;
BEGIN
  EXECUTE 'SELECT sum(id) FROM all_new WHERE id <= $1' INTO s USING NEW.id;
  RAISE NOTICE '% %', NEW.id, s;
  RETURN CASE WHEN NEW.id > 3 THEN NULL ELSE NEW END;
END $$;
CREATE TRIGGER tr AFTER INSERT ON t REFERENCING NEW TABLE AS all_new FOR EACH ROW EXECUTE FUNCTION row_of();
INSERT INTO t VALUES (3, 'c'), (4, 'd');
