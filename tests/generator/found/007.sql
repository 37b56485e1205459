-- symptom: a statement trigger below cascades fires once a row (DELETE in WITH, then DELETE that cascades)
CREATE TABLE ca1 (id integer PRIMARY KEY, u integer);
CREATE TABLE cb1 (id integer PRIMARY KEY, a integer REFERENCES ca1 ON DELETE CASCADE ON UPDATE CASCADE);
CREATE FUNCTION cf1() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % % %', TG_TABLE_NAME, TG_WHEN, TG_OP, (SELECT count(*) FROM old_rows); RETURN NULL; END $$;
CREATE TRIGGER tDELETE AFTER DELETE ON cb1 REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION cf1();
INSERT INTO ca1 SELECT g, g % 2 FROM generate_series(1, 4) g;
INSERT INTO cb1 SELECT g, 1 + g % 4 FROM generate_series(1, 9) g;
WITH d AS (DELETE FROM cb1 WHERE id > 4 RETURNING a) DELETE FROM ca1 WHERE id IN (SELECT a FROM d);
