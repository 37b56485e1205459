-- Actions of foreign keys: each is a command of its own. Its rows are those that its trigger has not changed.
CREATE TABLE p (id int PRIMARY KEY, x text DEFAULT '');
CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, x text DEFAULT '');
CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$ DELETE FROM c; DELETE FROM p; INSERT INTO p SELECT g FROM generate_series(1, 3) g; INSERT INTO c SELECT g, (g + 1) / 2 FROM generate_series(1, 6) g $$;
SELECT fill();
CREATE FUNCTION touch_child() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE c SET x = x || 'c' WHERE id = OLD.id + TG_ARGV[0]::int; RETURN coalesce(NEW, OLD); END $$;
CREATE FUNCTION touch_children() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE c SET x = x || 'p' WHERE p = OLD.id; RETURN coalesce(NEW, OLD); END $$;
-- a trigger of the parent changes the rows that the cascade will change: another command
CREATE TRIGGER parent BEFORE DELETE OR UPDATE ON p FOR EACH ROW EXECUTE FUNCTION touch_children();
DELETE FROM p WHERE id = 1;
UPDATE p SET id = 12 WHERE id = 2;
SELECT * FROM c ORDER BY id;
DROP TRIGGER parent ON p;
SELECT fill();
-- a trigger of the child changes the next row of its own cascade
CREATE TRIGGER child BEFORE DELETE ON c FOR EACH ROW EXECUTE FUNCTION touch_child('1');
DELETE FROM p WHERE id = 1;
SELECT * FROM c ORDER BY id;
DELETE FROM c WHERE id = 2;
DELETE FROM p WHERE id = 1;
SELECT * FROM c ORDER BY id;
DROP TRIGGER child ON c;
SELECT fill();
CREATE TRIGGER child BEFORE UPDATE OF p ON c FOR EACH ROW EXECUTE FUNCTION touch_child('0');
UPDATE p SET id = 11 WHERE id = 1;
DELETE FROM p WHERE id = 1;
SELECT * FROM c ORDER BY id;
DROP TRIGGER child ON c;
SELECT fill();
-- two parents: the child of the second is changed while the first one's goes
CREATE TRIGGER child BEFORE DELETE ON c FOR EACH ROW EXECUTE FUNCTION touch_child('2');
DELETE FROM p WHERE id < 3;
SELECT * FROM c ORDER BY id;
DROP TRIGGER child ON c;
SELECT fill();
-- a tree whose trigger removes the children first
CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree ON DELETE CASCADE);
CREATE FUNCTION prune() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM tree WHERE parent = OLD.id; RETURN OLD; END $$;
CREATE TRIGGER prune BEFORE DELETE ON tree FOR EACH ROW EXECUTE FUNCTION prune();
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, 1);
DELETE FROM tree WHERE id = 1;
SELECT * FROM tree ORDER BY id;
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, 1);
DELETE FROM tree;
SELECT * FROM tree ORDER BY id;
-- temporary tables, routines
CREATE FUNCTION run() RETURNS text LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN
  UPDATE c SET p = p WHERE id < 3; GET DIAGNOSTICS n = ROW_COUNT; RETURN n; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
SELECT run();
CREATE TRIGGER child BEFORE UPDATE OF p ON c FOR EACH ROW EXECUTE FUNCTION touch_child('1');
SELECT run();
DROP TRIGGER child ON c;
CREATE TRIGGER child BEFORE UPDATE OF p ON c FOR EACH ROW WHEN (OLD.id = 2) EXECUTE FUNCTION touch_child('-1');
SELECT run();
SELECT * FROM c ORDER BY id;
-- rows that a BEFORE trigger per statement has put in, changed, removed
DROP TRIGGER child ON c;
CREATE FUNCTION around() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO c VALUES (20, 1); UPDATE c SET x = 'b' WHERE id = 5; DELETE FROM c WHERE id = 6; RETURN NULL; END $$;
CREATE TRIGGER around BEFORE UPDATE OF p ON c EXECUTE FUNCTION around();
UPDATE c SET p = 2 WHERE id < 5 OR id = 20;
SELECT * FROM c ORDER BY id;
DELETE FROM c WHERE id = 20;
UPDATE c SET p = 2 WHERE id = 5;
UPDATE c SET p = 2 WHERE id = 6;
DELETE FROM c WHERE id = 20;
MERGE INTO c USING (VALUES (1), (5)) v(i) ON c.id = v.i WHEN MATCHED THEN UPDATE SET p = 1;
DELETE FROM c WHERE id = 20;
WITH a AS (UPDATE c SET p = 1 WHERE id = 1 RETURNING 1) UPDATE c SET p = 1 WHERE id = 5;
SELECT * FROM c ORDER BY id;
