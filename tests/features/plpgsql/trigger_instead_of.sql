CREATE TABLE people (id serial PRIMARY KEY, name text NOT NULL);
CREATE TABLE cities (person integer REFERENCES people, city text);
CREATE VIEW v AS SELECT id, name, city FROM people LEFT JOIN cities ON person = id;
CREATE FUNCTION change_v() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.name = 'skipped' THEN RETURN NULL; END IF;
    INSERT INTO people (name) VALUES (NEW.name) RETURNING id INTO NEW.id;
    IF NEW.city IS NOT NULL THEN INSERT INTO cities VALUES (NEW.id, NEW.city); END IF;
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' THEN
    IF OLD.name = 'kept' THEN RETURN NULL; END IF;
    UPDATE people SET name = upper(NEW.name) WHERE id = OLD.id;
    UPDATE cities SET city = NEW.city WHERE person = OLD.id;
    NEW.name := upper(NEW.name);
    RETURN NEW;
  END IF;
  DELETE FROM cities WHERE person = OLD.id;
  DELETE FROM people WHERE id = OLD.id;
  RETURN OLD;
END $$;
-- differs: no view is changed without a trigger, whether PostgreSQL updates it by itself or not
INSERT INTO v (name) VALUES ('early');
CREATE TRIGGER change INSTEAD OF INSERT OR UPDATE OR DELETE ON v FOR EACH ROW EXECUTE FUNCTION change_v();
INSERT INTO v (name, city) VALUES ('ann', 'Rome'), ('bob', 'Oslo'), ('skipped', 'x'), ('kept', 'Kiel');
INSERT INTO v (name) VALUES ('cyd') RETURNING *;
INSERT INTO v (name, city) SELECT 'n' || g, 'c' || g FROM generate_series(1, 3) g RETURNING id, name || '@' || city AS place;
SELECT * FROM v ORDER BY id;
UPDATE v SET city = 'Bonn' WHERE name = 'ann' RETURNING id, name, city;
UPDATE v SET name = 'x' || name WHERE city LIKE 'c%' RETURNING *;
UPDATE v AS a SET name = f.new, city = f.new FROM (VALUES ('bob', 'rob'), ('kept', 'lost'), ('nobody', 'x')) AS f (old, new) WHERE a.name = f.old RETURNING a.id, a.name, f.old, f.new;
UPDATE v SET name = DEFAULT WHERE id = 1;
SELECT * FROM v ORDER BY id;
DELETE FROM v WHERE id > 4 RETURNING id, name;
DELETE FROM v USING people p WHERE p.id = v.id AND p.name = 'ROB' RETURNING v.name, p.name AS other;
DELETE FROM v WHERE false;
SELECT * FROM people ORDER BY id;
SELECT * FROM cities ORDER BY person;
INSERT INTO v (name, nothing) VALUES ('a', 1);
INSERT INTO v VALUES (1, 'a', 'b', 'c');
INSERT INTO v (id) VALUES ('x');
UPDATE v SET nothing = 1;
INSERT INTO v (id, name) VALUES (1, NULL);
-- in routines, and with rows counted
DO $$
DECLARE n integer; k integer;
BEGIN
  INSERT INTO v (name, city) VALUES ('eve', 'Bern') RETURNING id INTO n;
  UPDATE v SET city = 'Thun' WHERE name = 'eve';
  GET DIAGNOSTICS k = ROW_COUNT;
  RAISE NOTICE '% row, city %', k, (SELECT city FROM v WHERE name = 'EVE');
  DELETE FROM v WHERE name = 'kept' OR name = 'EVE';
  GET DIAGNOSTICS k = ROW_COUNT;
  RAISE NOTICE '% rows deleted, found %', k, FOUND;
END $$;
SELECT count(*) FROM people;
-- statements, too, and in the order of their names
CREATE FUNCTION says() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE NOTICE '% % % % %', TG_NAME, TG_WHEN, TG_LEVEL, TG_OP, TG_TABLE_NAME;
  IF TG_LEVEL = 'ROW' AND TG_OP <> 'DELETE' THEN NEW.city := coalesce(NEW.city, '') || '+'; RETURN NEW; END IF;
  RETURN OLD; END $$;
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE ON v FOR EACH STATEMENT EXECUTE FUNCTION says();
CREATE TRIGGER z_after AFTER INSERT OR DELETE ON v FOR EACH STATEMENT EXECUTE FUNCTION says();
CREATE TRIGGER a_row INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION says();
INSERT INTO v (name, city) VALUES ('fay', 'Pisa') RETURNING name, city;
UPDATE v SET city = 'none' WHERE false;
DELETE FROM v WHERE name = 'fay';
SELECT tgname, tgtype, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname;
SELECT relname, relhastriggers FROM pg_class WHERE relname = 'v';
-- definitions
CREATE TRIGGER x INSTEAD OF INSERT ON people FOR EACH ROW EXECUTE FUNCTION says();
CREATE TRIGGER x BEFORE INSERT ON v FOR EACH ROW EXECUTE FUNCTION says();
CREATE TRIGGER x INSTEAD OF INSERT ON v FOR EACH STATEMENT EXECUTE FUNCTION says();
CREATE TRIGGER x INSTEAD OF INSERT ON v FOR EACH ROW WHEN (NEW.id > 0) EXECUTE FUNCTION says();
CREATE TRIGGER x INSTEAD OF UPDATE OF name ON v FOR EACH ROW EXECUTE FUNCTION says();
CREATE TRIGGER change INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION says();
CREATE TRIGGER x INSTEAD OF INSERT ON missing FOR EACH ROW EXECUTE FUNCTION says();
DROP TRIGGER a_row ON v;
DROP TRIGGER a_row ON v;
ALTER TRIGGER z_after ON v RENAME TO zz;
ALTER VIEW v RENAME TO w;
INSERT INTO w (name) VALUES ('gil');
CREATE OR REPLACE VIEW w AS SELECT id, name, city, 1 AS one FROM people LEFT JOIN cities ON person = id;
INSERT INTO w (name) VALUES ('hal') RETURNING name, one;
DROP VIEW w;
CREATE VIEW v AS SELECT id, name, city FROM people LEFT JOIN cities ON person = id;
SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal;
