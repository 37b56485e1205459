CREATE TABLE rt (id integer PRIMARY KEY, v integer, changed integer DEFAULT 0);
CREATE FUNCTION bump() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN NEW.v := coalesce(NEW.v, 100); RETURN NEW; END IF;
  IF NEW.v < 0 THEN RETURN NULL; END IF;
  NEW.changed := OLD.changed + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER bump BEFORE INSERT OR UPDATE ON rt FOR EACH ROW EXECUTE FUNCTION bump();
INSERT INTO rt (id, v) VALUES (1, 1), (2, NULL), (3, 3) RETURNING *;
UPDATE rt SET v = v - 2 RETURNING id, v, changed;
SELECT * FROM rt ORDER BY id;
UPDATE rt SET v = v + 1 WHERE id > 1 RETURNING id, v AS "new value", changed * 10;
INSERT INTO rt (id, v) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING id, v, changed;
INSERT INTO rt (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET v = -1 RETURNING *;
DELETE FROM rt WHERE v > 50 RETURNING *;
UPDATE rt SET v = v RETURNING nothing;
UPDATE rt SET v = v RETURNING count(*);
WITH u AS (UPDATE rt SET v = v * 2 RETURNING *) SELECT sum(v), sum(changed) FROM u;
CREATE TABLE rlog (id integer, v integer);
WITH u AS (UPDATE rt SET v = v + 1 RETURNING id, v) INSERT INTO rlog SELECT * FROM u RETURNING *;
SELECT r.id, r.v, l.v FROM rt r LEFT JOIN rlog l USING (id) ORDER BY id;
DROP TRIGGER bump ON rt;
UPDATE rt SET v = -5 WHERE id = 1 RETURNING *;
