CREATE TYPE state AS ENUM ('new', 'open', 'waiting', 'closed');
CREATE TABLE agent (id integer PRIMARY KEY, name text NOT NULL, skills text[] NOT NULL DEFAULT '{}', max_open integer NOT NULL DEFAULT 2);
CREATE TABLE ticket (id integer GENERATED ALWAYS AS IDENTITY (START 100) PRIMARY KEY, subject text NOT NULL, topic text, state state NOT NULL DEFAULT 'new', agent integer REFERENCES agent ON DELETE SET NULL, meta jsonb NOT NULL DEFAULT '{}');
CREATE INDEX ticket_open ON ticket (agent) WHERE state IN ('open', 'waiting');
CREATE TABLE event (ticket integer REFERENCES ticket ON DELETE CASCADE, no integer, what text NOT NULL, PRIMARY KEY (ticket, no));
INSERT INTO agent VALUES (1, 'Ann', '{net,db}'), (2, 'Bob', '{db}', 1), (3, 'Cid');
CREATE FUNCTION on_ticket() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE w text;
BEGIN
  IF TG_OP = 'INSERT' THEN w := 'created ' || coalesce(NEW.topic, '(none)');
  ELSIF NEW.state <> OLD.state THEN w := OLD.state || ' -> ' || NEW.state;
  ELSIF NEW.agent IS DISTINCT FROM OLD.agent THEN w := 'agent ' || coalesce(OLD.agent::text, '-') || ' -> ' || coalesce(NEW.agent::text, '-');
  ELSE RETURN NULL;
  END IF;
  INSERT INTO event SELECT NEW.id, coalesce(max(no), 0) + 1, w FROM event WHERE ticket = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER on_ticket AFTER INSERT OR UPDATE ON ticket FOR EACH ROW EXECUTE FUNCTION on_ticket();
CREATE FUNCTION assign(t integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE tk ticket; best record;
BEGIN
  SELECT * INTO tk FROM ticket WHERE id = t;
  IF tk.id IS NULL THEN RAISE EXCEPTION 'no ticket %', t USING ERRCODE = 'P0002'; END IF;
  IF tk.state = 'closed' THEN RETURN 'closed'; END IF;
  SELECT a.id, a.name, count(o.id) AS load INTO best FROM agent a LEFT JOIN ticket o ON o.agent = a.id AND o.state IN ('open', 'waiting')
    WHERE tk.topic = ANY (a.skills) OR tk.topic IS NULL GROUP BY a.id, a.name, a.max_open HAVING count(o.id) < a.max_open ORDER BY count(o.id), a.id LIMIT 1;
  IF NOT FOUND THEN UPDATE ticket SET state = 'waiting' WHERE id = t; RETURN 'nobody'; END IF;
  UPDATE ticket SET agent = best.id, state = 'open' WHERE id = t;
  RETURN best.name || ' ' || best.load;
END $$;
INSERT INTO ticket (subject, topic) VALUES ('slow', 'db'), ('down', 'net'), ('index', 'db'), ('howto', NULL), ('printer', 'hw'), ('lock', 'db') RETURNING id, state;
SELECT id, assign(id) FROM (SELECT id FROM ticket ORDER BY id) AS t;
SELECT assign(1);
CREATE PROCEDURE close_ticket(t integer, VARIADIC tags text[]) LANGUAGE plpgsql AS $$
DECLARE x text;
BEGIN
  UPDATE ticket SET state = 'closed' WHERE id = t AND state <> 'closed';
  IF NOT FOUND THEN RAISE WARNING 'ticket % is not open', t; RETURN; END IF;
  FOREACH x IN ARRAY tags LOOP UPDATE ticket SET meta = jsonb_set(meta, ARRAY[x], 'true') WHERE id = t; END LOOP;
END $$;
CALL close_ticket(100, 'fixed', 'dba');
CALL close_ticket(100, 'again');
CALL close_ticket(101, 'dup');
SELECT assign(105), assign(100);
SELECT id, topic, state, agent, meta FROM ticket ORDER BY id;
SELECT ticket, string_agg(what, '; ' ORDER BY no) FROM event GROUP BY ticket ORDER BY ticket;
SELECT a.name, count(t.id) FILTER (WHERE t.state = 'closed') AS closed, count(t.id) FILTER (WHERE t.state <> 'closed') AS open FROM agent a LEFT JOIN ticket t ON t.agent = a.id GROUP BY a.id, a.name ORDER BY a.id;
SELECT id FROM ticket WHERE meta ? 'dba' OR meta @> '{"dup": true}' ORDER BY id;
DELETE FROM agent WHERE id = 1;
SELECT id, agent FROM ticket WHERE agent IS NULL ORDER BY id;
SELECT what FROM event WHERE ticket = 101 ORDER BY no;
SELECT state, count(*), array_agg(id ORDER BY id) FROM ticket GROUP BY state ORDER BY state DESC;
DELETE FROM ticket WHERE state = 'closed' RETURNING id;
SELECT count(*), count(DISTINCT ticket) FROM event;
