-- Event sourcing: streams with expected versions, projections by trigger, snapshots.
BEGIN;
CREATE TABLE streams (stream_id uuid PRIMARY KEY, type text NOT NULL, version bigint NOT NULL DEFAULT 0);
CREATE TABLE events (
  position bigserial PRIMARY KEY, stream_id uuid NOT NULL REFERENCES streams, version bigint NOT NULL, type text NOT NULL,
  data json NOT NULL, metadata json, created timestamptz NOT NULL DEFAULT now(), CONSTRAINT events_version UNIQUE (stream_id, version));
CREATE TABLE cart_projection (stream_id uuid PRIMARY KEY, items integer NOT NULL DEFAULT 0, total numeric NOT NULL DEFAULT 0, status text NOT NULL DEFAULT 'open');
CREATE OR REPLACE FUNCTION append_event(id uuid, data json, type text, stream_id uuid, stream_type text, expected_stream_version bigint DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  stream_version bigint;
BEGIN
  SELECT s.version INTO stream_version FROM streams AS s WHERE s.stream_id = append_event.stream_id FOR UPDATE;
  IF stream_version IS NULL THEN
    stream_version := 0;
    INSERT INTO streams (stream_id, type, version) VALUES (append_event.stream_id, append_event.stream_type, stream_version);
  END IF;
  IF expected_stream_version IS NOT NULL AND stream_version != expected_stream_version THEN
    RETURN FALSE;
  END IF;
  stream_version := stream_version + 1;
  INSERT INTO events (stream_id, version, type, data, metadata)
  VALUES (append_event.stream_id, stream_version, append_event.type, append_event.data, json_build_object('id', append_event.id));
  UPDATE streams AS s SET version = stream_version WHERE s.stream_id = append_event.stream_id;
  RETURN TRUE;
END;
$$;
CREATE OR REPLACE FUNCTION project_cart() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE NEW.type
    WHEN 'opened' THEN
      INSERT INTO cart_projection (stream_id) VALUES (NEW.stream_id);
    WHEN 'added' THEN
      UPDATE cart_projection SET items = items + 1, total = total + (NEW.data ->> 'price')::numeric WHERE stream_id = NEW.stream_id;
    WHEN 'removed' THEN
      UPDATE cart_projection SET items = items - 1, total = total - (NEW.data ->> 'price')::numeric WHERE stream_id = NEW.stream_id;
    WHEN 'confirmed' THEN
      UPDATE cart_projection SET status = 'confirmed' WHERE stream_id = NEW.stream_id;
    ELSE
      RAISE EXCEPTION 'unknown event type "%"', NEW.type;
  END CASE;
  RETURN NEW;
END;
$$;
CREATE TRIGGER project_cart AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION project_cart();
CREATE OR REPLACE FUNCTION no_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events are immutable' USING ERRCODE = 'raise_exception', DETAIL = TG_OP || ' of ' || TG_TABLE_NAME;
END;
$$;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION no_changes();
COMMIT;
SELECT append_event('00000000-0000-0000-0000-000000000001', '{}', 'opened', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'cart', 0);
SELECT append_event('00000000-0000-0000-0000-000000000002', '{"sku": "x",  "price": 12.5}', 'added', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'cart', 1);
SELECT append_event('00000000-0000-0000-0000-000000000003', '{"sku": "y", "price": 2}', 'added', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'cart', 1);
SELECT append_event(id => '00000000-0000-0000-0000-000000000003', data => '{"sku": "y", "price": 2}', type => 'added', stream_id => 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', stream_type => 'cart');
SELECT append_event('00000000-0000-0000-0000-000000000004', '{}', 'lost', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'cart');
SELECT * FROM cart_projection;
UPDATE events SET data = '{}';
SELECT stream_id, version, type, data, metadata ->> 'id' AS id FROM events ORDER BY position;
CREATE FUNCTION replay(p_stream uuid, p_until bigint DEFAULT 9223372036854775807) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_state jsonb := '{"items": []}';
  v_event events%ROWTYPE;
BEGIN
  FOR v_event IN SELECT * FROM events e WHERE e.stream_id = p_stream AND e.version <= p_until ORDER BY e.version LOOP
    IF v_event.type = 'added' THEN
      v_state := jsonb_set(v_state, '{items}', (v_state -> 'items') || to_jsonb(v_event.data ->> 'sku'));
    END IF;
    v_state := v_state || jsonb_build_object('version', v_event.version);
  END LOOP;
  RETURN v_state;
END;
$$;
SELECT replay('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), replay('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 2);
