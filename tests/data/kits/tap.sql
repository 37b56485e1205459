-- A unit test kit in the style of the well-known one: results in temporary tables of the session, plan(), ok(), is(), finish().
CREATE SCHEMA tap;
SET search_path = tap, public;
CREATE OR REPLACE FUNCTION plan(integer) RETURNS text AS $$
DECLARE
  rcount integer;
BEGIN
  BEGIN
    EXECUTE '
    CREATE TEMP SEQUENCE __tcache___id_seq;
    CREATE TEMP TABLE __tcache__ (id integer NOT NULL DEFAULT nextval(''__tcache___id_seq''), label text NOT NULL, value integer NOT NULL, note text NOT NULL DEFAULT '''');
    ';
  EXCEPTION WHEN OTHERS THEN
    EXECUTE 'CREATE TEMP TABLE __tcache__ (id serial, label text NOT NULL, value integer NOT NULL, note text NOT NULL DEFAULT '''')';
  END;
  PERFORM _set('plan', $1);
  RETURN '1..' || $1;
END;
$$ LANGUAGE plpgsql STRICT;
CREATE OR REPLACE FUNCTION _get(text) RETURNS integer AS $$
DECLARE
  ret integer;
BEGIN
  EXECUTE 'SELECT value FROM __tcache__ WHERE label = ' || quote_literal($1) || ' LIMIT 1' INTO ret;
  RETURN ret;
END;
$$ LANGUAGE plpgsql STRICT;
CREATE OR REPLACE FUNCTION _set(text, integer, text) RETURNS integer AS $$
DECLARE
  rcount integer;
BEGIN
  EXECUTE 'UPDATE __tcache__ SET value = ' || $2 || CASE WHEN $3 IS NULL THEN '' ELSE ', note = ' || quote_literal($3) END || ' WHERE label = ' || quote_literal($1);
  GET DIAGNOSTICS rcount = ROW_COUNT;
  IF rcount = 0 THEN
    EXECUTE 'INSERT INTO __tcache__ (label, value, note) VALUES (' || quote_literal($1) || ', ' || $2 || ', ' || quote_literal(COALESCE($3, '')) || ')';
  END IF;
  RETURN $2;
END;
$$ LANGUAGE plpgsql;
CREATE OR REPLACE FUNCTION _set(text, integer) RETURNS integer AS $$
  SELECT _set($1, $2, '');
$$ LANGUAGE sql;
CREATE OR REPLACE FUNCTION ok(boolean, text) RETURNS text AS $$
DECLARE
  aok ALIAS FOR $1;
  descr text := $2;
  test_num integer;
BEGIN
  test_num := COALESCE(_get('curr_test'), 0) + 1;
  PERFORM _set('curr_test', test_num);
  IF NOT COALESCE(aok, false) THEN
    PERFORM _set('failed', COALESCE(_get('failed'), 0) + 1);
  END IF;
  RETURN (CASE aok WHEN true THEN '' ELSE 'not ' END) || 'ok ' || test_num || CASE descr WHEN '' THEN '' ELSE COALESCE(' - ' || replace(descr, E'\n', E'\n# '), '') END;
END;
$$ LANGUAGE plpgsql;
CREATE OR REPLACE FUNCTION is(anyelement, anyelement, text) RETURNS text AS $$
DECLARE
  result boolean;
  output text;
BEGIN
  result := NOT $1 IS DISTINCT FROM $2;
  output := ok(result, $3);
  RETURN output || CASE result WHEN true THEN '' ELSE E'\n' || '#         have: ' || COALESCE($1::text, 'NULL') || E'\n#         want: ' || COALESCE($2::text, 'NULL') END;
END;
$$ LANGUAGE plpgsql;
CREATE OR REPLACE FUNCTION throws_ok(text, char(5), text, text) RETURNS text AS $$
DECLARE
  query text := $1;
  errcode ALIAS FOR $2;
  errmsg ALIAS FOR $3;
  desctext ALIAS FOR $4;
BEGIN
  EXECUTE query;
  RETURN ok(false, desctext) || E'\n' || '# caught: no exception';
EXCEPTION WHEN OTHERS THEN
  IF (errcode IS NULL OR SQLSTATE = errcode) AND (errmsg IS NULL OR SQLERRM = errmsg) THEN
    RETURN ok(true, desctext);
  ELSE
    RETURN ok(false, desctext) || E'\n' || '# caught: ' || SQLSTATE || ': ' || SQLERRM;
  END IF;
END;
$$ LANGUAGE plpgsql;
CREATE OR REPLACE FUNCTION has_table(name) RETURNS text AS $$
  SELECT ok(EXISTS (SELECT true FROM pg_catalog.pg_class c WHERE c.relkind = 'r' AND c.relname = $1), 'Table ' || quote_ident($1) || ' should exist');
$$ LANGUAGE sql;
CREATE OR REPLACE FUNCTION finish() RETURNS SETOF text AS $$
DECLARE
  curr_test integer := _get('curr_test');
  exp_tests integer := _get('plan');
  num_failed integer := COALESCE(_get('failed'), 0);
BEGIN
  IF curr_test <> exp_tests THEN
    RETURN NEXT '# Looks like you planned ' || exp_tests || ' tests but ran ' || curr_test;
  ELSIF num_failed > 0 THEN
    RETURN NEXT '# Looks like you failed ' || num_failed || ' tests of ' || exp_tests;
  END IF;
  RETURN;
END;
$$ LANGUAGE plpgsql;
CREATE TABLE public.thing (id integer PRIMARY KEY, v text);
BEGIN;
SELECT plan(5);
SELECT ok(1 = 1, 'one is one');
SELECT is(1 + 1, 2, 'sum');
SELECT is('a'::text, 'b'::text, 'texts');
SELECT throws_ok('INSERT INTO thing VALUES (1, 2), (1, 3)', '23505', NULL, 'duplicate');
SELECT has_table('thing');
SELECT * FROM finish();
ROLLBACK;
SELECT count(*) FROM thing;
