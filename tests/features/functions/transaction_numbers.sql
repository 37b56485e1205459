-- What kits ask about transactions and sessions: txid_current(), pg_notify(), NOTIFY without listeners.
CREATE TABLE audit (n serial PRIMARY KEY, tx bigint NOT NULL);
INSERT INTO audit (tx) VALUES (txid_current()), (txid_current());
INSERT INTO audit (tx) VALUES (txid_current());
SELECT count(DISTINCT tx), (SELECT a.tx < b.tx FROM audit a, audit b WHERE a.n = 1 AND b.n = 3) AS later FROM audit;
DO $$ DECLARE first bigint := txid_current(); BEGIN
  RAISE NOTICE '%', first = txid_current();
END $$;
SELECT pg_notify('channel', 'payload');
SELECT pg_notify('', 'payload');
SELECT pg_notify(NULL, NULL);
SELECT pg_notify(repeat('c', 64), '');
SELECT pg_notify('c', repeat('p', 8000));
CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_notify('audit', to_jsonb(NEW)::text);
  RETURN NEW;
END $$;
CREATE TRIGGER told AFTER INSERT ON audit FOR EACH ROW EXECUTE FUNCTION told();
INSERT INTO audit (tx) VALUES (0);
SELECT pg_backend_pid() > 0;
