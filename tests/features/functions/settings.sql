-- Settings of the session: SET, RESET, SHOW, set_config(), current_setting().
SELECT current_setting('app.tenant');
SELECT current_setting('app.tenant', true), current_setting('app.tenant', true) IS NULL;
SELECT set_config('app.tenant', 'acme', false);
SELECT current_setting('app.tenant'), current_setting('APP.Tenant', true);
SHOW app.tenant;
SET app.tenant = 'other';
SELECT current_setting('app.tenant');
SET app.limit TO 12;
SELECT current_setting('app.limit')::integer + 1;
SET app.list = a, 'b c', 3;
SELECT current_setting('app.list');
RESET app.tenant;
SELECT current_setting('app.tenant');
-- until the end of the transaction, which is the statement's
SELECT set_config('app.once', 'x', true), current_setting('app.once', true);
SELECT current_setting('app.once', true);
SELECT set_config('app.kept', 'x', NULL);
SELECT current_setting('app.kept');
-- errors
SELECT current_setting('nix');
SELECT current_setting('nix', true);
SELECT current_setting('nix', false);
SELECT current_setting(NULL), current_setting(NULL, true), current_setting('app.kept', NULL);
SELECT set_config('nix', 'x', false);
SELECT set_config(NULL, 'x', false);
SELECT set_config('app.kept', NULL, false);
SELECT current_setting('app.kept');
SELECT set_config('app.2x', 'x', false);
SELECT set_config('app.', 'x', false);
SELECT set_config('server_version_num', '1', false);
SHOW nix;
SHOW app.nix;
SET nix = 1;
RESET nix;
SET row_security = maybe;
-- known ones
SHOW search_path;
SELECT current_setting('search_path'), current_setting('server_encoding'), current_setting('TimeZone'), current_setting('datestyle');
SELECT set_config('row_security', 'false', false), current_setting('row_security');
SET row_security TO DEFAULT;
SHOW row_security;
SET check_function_bodies = false;
SET statement_timeout = 0;
SET default_tablespace = '';
SET standard_conforming_strings = on;
SET xmloption = content;
SET default_table_access_method = heap;
SET TIME ZONE 'UTC';
SHOW timezone;
SET client_min_messages = 'nix';
-- levels of messages
DO $$ BEGIN RAISE NOTICE 'one'; RAISE WARNING 'two'; RAISE DEBUG 'three'; RAISE INFO 'four'; END $$;
SET client_min_messages = warning;
DO $$ BEGIN RAISE NOTICE 'one'; RAISE WARNING 'two'; RAISE DEBUG 'three'; RAISE INFO 'four'; END $$;
SET client_min_messages = error;
DO $$ BEGIN RAISE NOTICE 'one'; RAISE WARNING 'two'; RAISE INFO 'four'; END $$;
DROP TABLE IF EXISTS nix;
RESET client_min_messages;
-- in routines
CREATE TABLE notes (id integer PRIMARY KEY, owner text DEFAULT current_setting('app.tenant', true), body text);
CREATE FUNCTION tenant() RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN coalesce(nullif(current_setting('app.tenant', true), ''), 'nobody'); END $$;
CREATE FUNCTION tenant_sql() RETURNS text LANGUAGE sql AS $$ SELECT current_setting('app.tenant', true) $$;
SELECT tenant();
SET app.tenant = 'acme';
SELECT tenant(), tenant_sql();
INSERT INTO notes (id, body) VALUES (1, 'a'), (2, tenant()) RETURNING *;
SELECT id FROM notes WHERE owner = current_setting('app.tenant') ORDER BY id;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.body := NEW.body || '@' || current_setting('app.tenant'); RETURN NEW; END $$;
CREATE TRIGGER stamped BEFORE INSERT OR UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION stamp();
INSERT INTO notes (id, body) VALUES (3, 'c');
UPDATE notes SET body = 'd' WHERE id = 1;
SELECT * FROM notes ORDER BY id;
DO $$
BEGIN
  PERFORM set_config('app.tenant', 'inner', true);
  RAISE NOTICE '%', current_setting('app.tenant');
  SET LOCAL app.tenant = 'set';
  RAISE NOTICE '%', current_setting('app.tenant');
  SET app.other = 'o';
  SET app.num TO 5;
END $$;
SELECT current_setting('app.tenant'), current_setting('app.other'), current_setting('app.num');
DO $$ BEGIN PERFORM set_config('app.tenant', 'lost', false); RAISE EXCEPTION 'no'; END $$;
SELECT current_setting('app.tenant');
CREATE PROCEDURE parts() LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('app.tenant', 'local', true);
  PERFORM set_config('app.other', 'session', false);
  COMMIT;
  RAISE NOTICE '% %', current_setting('app.tenant'), current_setting('app.other');
END $$;
CALL parts();
SELECT current_setting('app.tenant'), current_setting('app.other');
DO $$ BEGIN EXECUTE 'SELECT set_config(''app.dyn'', ''1'', false)'; END $$;
SELECT current_setting('app.dyn');
DO $$ BEGIN BEGIN PERFORM current_setting('no.such'); EXCEPTION WHEN undefined_object THEN RAISE NOTICE 'caught %', SQLERRM; END; END $$;
SELECT pg_catalog.set_config('search_path', '', false);
SET search_path = public;
SET search_path TO "$user", public;
CREATE INDEX ON notes ((current_setting('app.tenant')));
