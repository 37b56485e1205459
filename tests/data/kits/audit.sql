-- A generic audit trigger in the style of the well-known ones: to_jsonb(OLD), changed fields, excluded columns.
\set ON_ERROR_STOP off
BEGIN;
CREATE SCHEMA audit;
COMMENT ON SCHEMA audit IS 'Out-of-table audit/history logging tables and trigger functions';
CREATE TABLE audit.logged_actions (
  event_id bigserial PRIMARY KEY,
  schema_name text NOT NULL,
  table_name text NOT NULL,
  session_user_name text,
  action_tstamp_tx timestamp with time zone NOT NULL,
  transaction_id bigint,
  application_name text,
  action text NOT NULL CHECK (action IN ('I', 'D', 'U', 'T')),
  row_data jsonb,
  changed_fields jsonb,
  statement_only boolean NOT NULL
);
CREATE INDEX logged_actions_action_idx ON audit.logged_actions (action);
CREATE OR REPLACE FUNCTION audit.if_modified_func() RETURNS trigger AS $body$
DECLARE
  audit_row audit.logged_actions;
  excluded_cols text[] = ARRAY[]::text[];
  old_row jsonb;
  new_row jsonb;
  k text;
BEGIN
  IF TG_WHEN <> 'AFTER' THEN
    RAISE EXCEPTION 'audit.if_modified_func() may only run as an AFTER trigger';
  END IF;
  audit_row = ROW(
    nextval('audit.logged_actions_event_id_seq'), TG_TABLE_SCHEMA::text, TG_TABLE_NAME::text, session_user::text,
    current_timestamp, txid_current(), current_setting('application_name'), substring(TG_OP, 1, 1), NULL, NULL, 'f');
  IF TG_ARGV[0] IS NOT NULL THEN
    excluded_cols = TG_ARGV[0]::text[];
  END IF;
  IF (TG_OP = 'UPDATE' AND TG_LEVEL = 'ROW') THEN
    old_row = to_jsonb(OLD.*) - excluded_cols;
    new_row = to_jsonb(NEW.*) - excluded_cols;
    audit_row.row_data = old_row;
    audit_row.changed_fields = '{}'::jsonb;
    FOR k IN SELECT jsonb_object_keys(new_row) LOOP
      IF new_row -> k IS DISTINCT FROM old_row -> k THEN
        audit_row.changed_fields = audit_row.changed_fields || jsonb_build_object(k, new_row -> k);
      END IF;
    END LOOP;
    IF audit_row.changed_fields = '{}'::jsonb THEN
      RETURN NULL;
    END IF;
  ELSIF (TG_OP = 'DELETE' AND TG_LEVEL = 'ROW') THEN
    audit_row.row_data = to_jsonb(OLD.*) - excluded_cols;
  ELSIF (TG_OP = 'INSERT' AND TG_LEVEL = 'ROW') THEN
    audit_row.row_data = to_jsonb(NEW.*) - excluded_cols;
  ELSIF (TG_LEVEL = 'STATEMENT' AND TG_OP IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')) THEN
    audit_row.statement_only = 't';
  ELSE
    RAISE EXCEPTION '[audit.if_modified_func] - Trigger func added as trigger for unhandled case: %, %', TG_OP, TG_LEVEL;
    RETURN NULL;
  END IF;
  INSERT INTO audit.logged_actions VALUES (audit_row.*);
  RETURN NULL;
END;
$body$ LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public;

CREATE OR REPLACE FUNCTION audit.audit_table(target_table regclass, audit_rows boolean, ignored_cols text[]) RETURNS void AS $body$
DECLARE
  stm_targets text = 'INSERT OR UPDATE OR DELETE';
  _q_txt text;
  _ignored_cols_snip text = '';
BEGIN
  EXECUTE 'DROP TRIGGER IF EXISTS audit_trigger_row ON ' || target_table::text;
  IF audit_rows THEN
    IF array_length(ignored_cols, 1) > 0 THEN
      _ignored_cols_snip = quote_literal(ignored_cols);
    END IF;
    _q_txt = 'CREATE TRIGGER audit_trigger_row AFTER INSERT OR UPDATE OR DELETE ON ' ||
             target_table::text ||
             ' FOR EACH ROW EXECUTE PROCEDURE audit.if_modified_func(' || _ignored_cols_snip || ');';
    RAISE NOTICE '%', _q_txt;
    EXECUTE _q_txt;
  END IF;
END;
$body$ LANGUAGE plpgsql;
CREATE OR REPLACE FUNCTION audit.audit_table(target_table regclass) RETURNS void AS $body$
  SELECT audit.audit_table($1, BOOLEAN 't', ARRAY[]::text[]);
$body$ LANGUAGE sql;
COMMIT;

CREATE TABLE person (id integer PRIMARY KEY, name text, secret text, born date);
SELECT audit.audit_table('person', true, '{secret}');
INSERT INTO person VALUES (1, 'Ann', 'x', '1990-01-02'), (2, 'Bob', 'y', NULL);
UPDATE person SET name = 'Anna', secret = 'z' WHERE id = 1;
UPDATE person SET secret = 'zz' WHERE id = 1;
DELETE FROM person WHERE id = 2;
SELECT event_id, schema_name, table_name, action, row_data, changed_fields, statement_only FROM audit.logged_actions ORDER BY event_id;
SELECT count(DISTINCT transaction_id) FROM audit.logged_actions;
SELECT audit.audit_table('nothing');
SELECT audit.audit_table('person');
