-- Whose rights count, and who current_user is, where a statement runs what somebody else has written.
-- Roles are the whole server's: they go at the end.
CREATE ROLE feat_act_owner;
CREATE ROLE feat_act_user;
CREATE ROLE feat_act_other;
GRANT CREATE, USAGE ON SCHEMA public TO feat_act_owner, feat_act_user;
GRANT USAGE ON SCHEMA public TO feat_act_other;
CREATE TABLE secret (a integer);
INSERT INTO secret VALUES (1), (2);
GRANT SELECT ON secret TO feat_act_owner;
CREATE FUNCTION who() RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user::text';
CREATE FUNCTION owners() RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user::text';
REVOKE EXECUTE ON FUNCTION owners() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners() TO feat_act_owner;
CREATE FUNCTION users() RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user::text';
REVOKE EXECUTE ON FUNCTION users() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION users() TO feat_act_user;
-- REFRESH runs as the owner of the view, whoever asks for it
SET ROLE feat_act_owner;
CREATE MATERIALIZED VIEW m AS SELECT current_user::text AS made_by, who() AS called_by, count(*) AS n FROM secret;
SELECT * FROM m;
RESET ROLE;
REFRESH MATERIALIZED VIEW m;
SELECT * FROM m;
DO $$ BEGIN REFRESH MATERIALIZED VIEW m; END $$;
SELECT * FROM m;
DO $$ BEGIN EXECUTE 'REFRESH MATERIALIZED VIEW m'; END $$;
SELECT * FROM m;
REVOKE SELECT ON secret FROM feat_act_owner;
REFRESH MATERIALIZED VIEW m;
GRANT SELECT ON secret TO feat_act_owner;
SET ROLE feat_act_user;
REFRESH MATERIALIZED VIEW m;
RESET ROLE;
ALTER MATERIALIZED VIEW m OWNER TO feat_act_other;
REFRESH MATERIALIZED VIEW m;
GRANT SELECT ON secret TO feat_act_other;
REFRESH MATERIALIZED VIEW m;
SELECT * FROM m;
-- views read as their owner; what they call, the asking role calls
SET ROLE feat_act_owner;
CREATE VIEW reads AS SELECT current_user::text AS asked_by, who() AS called_by, a FROM secret;
CREATE VIEW calls_owners AS SELECT owners() AS who, a FROM secret;
GRANT SELECT ON reads, calls_owners TO feat_act_user;
RESET ROLE;
CREATE VIEW calls_users AS SELECT users() AS who, a FROM secret;
ALTER VIEW calls_users OWNER TO feat_act_owner;
GRANT SELECT ON calls_users TO feat_act_user;
SET ROLE feat_act_user;
SELECT * FROM reads ORDER BY a;
SELECT * FROM calls_owners;
SELECT * FROM calls_users ORDER BY a;
SELECT * FROM secret;
RESET ROLE;
CREATE VIEW asks AS SELECT has_table_privilege('secret', 'SELECT') AS may;
ALTER VIEW asks OWNER TO feat_act_owner;
GRANT SELECT ON asks TO feat_act_user;
SET ROLE feat_act_user;
SELECT may FROM asks;
RESET ROLE;
-- sequences likewise
CREATE SEQUENCE numbers;
GRANT USAGE ON SEQUENCE numbers TO feat_act_owner;
SET ROLE feat_act_owner;
CREATE VIEW draws AS SELECT nextval('numbers') AS n;
GRANT SELECT ON draws TO feat_act_user;
SELECT n FROM draws;
SET ROLE feat_act_user;
SELECT n FROM draws;
RESET ROLE;
-- SECURITY DEFINER
SET ROLE feat_act_owner;
CREATE FUNCTION defines() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ DECLARE n integer; BEGIN
  SELECT count(*) INTO n FROM secret; RETURN current_user || n || who(); END $$;
CREATE FUNCTION defines_late() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ DECLARE n text; BEGIN
  EXECUTE 'SELECT current_user || count(*) FROM secret' INTO n; RETURN n; END $$;
SET ROLE feat_act_user;
SELECT defines(), defines_late(), current_user;
-- triggers, defaults and checks run as who changes the table
SET ROLE feat_act_owner;
CREATE TABLE notes (id integer, who text, by_default text DEFAULT current_user, by_function text DEFAULT who());
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.who := current_user; RETURN NEW; END $$;
REVOKE EXECUTE ON FUNCTION note() FROM PUBLIC;
CREATE TRIGGER noting BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION note();
GRANT INSERT, SELECT ON notes TO feat_act_user;
CREATE TABLE defaulted (id integer, who text DEFAULT owners());
GRANT INSERT ON defaulted TO feat_act_user;
SET ROLE feat_act_user;
INSERT INTO notes (id) VALUES (1);
COPY notes (id) FROM STDIN;
2
\.
SELECT * FROM notes ORDER BY id;
INSERT INTO defaulted (id) VALUES (1);
INSERT INTO defaulted (id, who) VALUES (1, 'given');
RESET ROLE;
-- foreign keys look up as the owners of the tables
SET ROLE feat_act_owner;
CREATE TABLE parent (id integer PRIMARY KEY);
INSERT INTO parent VALUES (1), (2), (3);
GRANT REFERENCES ON parent TO feat_act_other;
RESET ROLE;
CREATE TABLE child (id integer PRIMARY KEY, parent integer);
INSERT INTO child VALUES (1, 1);
ALTER TABLE child OWNER TO feat_act_other;
SET ROLE feat_act_other;
SELECT * FROM parent;
ALTER TABLE child ADD FOREIGN KEY (parent) REFERENCES parent ON DELETE CASCADE;
INSERT INTO child VALUES (2, 2);
-- state only: PostgreSQL does not name a key that the role may not read
INSERT INTO child VALUES (3, 9);
GRANT INSERT ON child TO feat_act_user;
SET ROLE feat_act_user;
INSERT INTO child VALUES (4, 3);
SELECT * FROM child;
SET ROLE feat_act_owner;
DELETE FROM parent WHERE id = 1;
RESET ROLE;
SELECT id, parent FROM child ORDER BY id;
-- an index is made with the rights of the table's owner
CREATE FUNCTION keyed(a integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT a + 1';
REVOKE EXECUTE ON FUNCTION keyed(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keyed(integer) TO feat_act_owner;
CREATE TABLE keys (a integer);
INSERT INTO keys VALUES (1), (2);
ALTER TABLE keys OWNER TO feat_act_owner;
CREATE INDEX keys_keyed ON keys (keyed(a));
SELECT a FROM keys WHERE keyed(a) = 3;
-- what is prepared, or compiled before, counts anew for another role
CREATE FUNCTION counts() RETURNS text LANGUAGE plpgsql AS $$ DECLARE n integer; BEGIN
  SELECT count(*) INTO n FROM secret; RETURN current_user || n; END $$;
SET ROLE feat_act_owner;
SELECT counts();
CREATE TABLE copied AS SELECT current_user::text AS made_by, who() AS called_by;
SELECT * FROM copied;
SET ROLE feat_act_user;
-- state only: the context names the function
SELECT counts();
CREATE TABLE copied_too AS SELECT * FROM secret;
RESET ROLE;
DROP TABLE copied, keys, child, parent, defaulted, notes;
DROP FUNCTION counts();
DROP FUNCTION keyed(integer);
DROP FUNCTION note();
DROP FUNCTION defines();
DROP FUNCTION defines_late();
DROP VIEW draws;
DROP VIEW asks;
DROP VIEW calls_users;
DROP VIEW calls_owners;
DROP VIEW reads;
DROP SEQUENCE numbers;
DROP MATERIALIZED VIEW m;
DROP FUNCTION users();
DROP FUNCTION owners();
DROP FUNCTION who();
DROP TABLE secret;
REVOKE ALL ON SCHEMA public FROM feat_act_owner, feat_act_user, feat_act_other;
DROP ROLE feat_act_owner, feat_act_user, feat_act_other;
