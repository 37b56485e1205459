CREATE TABLE item (id integer PRIMARY KEY, name text, price numeric(8, 2), version integer NOT NULL DEFAULT 1);
CREATE TABLE item_history (id integer, version integer, op text, old_price numeric(8, 2), new_price numeric(8, 2), PRIMARY KEY (id, version));
CREATE FUNCTION versioned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW IS NOT DISTINCT FROM OLD THEN RETURN NULL; END IF;
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $$;
CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN INSERT INTO item_history VALUES (OLD.id, OLD.version + 1, 'D', OLD.price, NULL);
  ELSIF TG_OP = 'UPDATE' THEN INSERT INTO item_history VALUES (NEW.id, NEW.version, 'U', OLD.price, NEW.price);
  ELSE INSERT INTO item_history VALUES (NEW.id, NEW.version, 'I', NULL, NEW.price);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER a_version BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION versioned();
CREATE TRIGGER b_keep AFTER INSERT OR UPDATE OR DELETE ON item FOR EACH ROW EXECUTE FUNCTION kept();
INSERT INTO item (id, name, price) VALUES (1, 'pen', 1.5), (2, 'pad', NULL);
UPDATE item SET price = coalesce(price, 0) + 1;
UPDATE item SET price = price WHERE id = 1;
UPDATE item SET name = 'PEN' WHERE id = 1 RETURNING *;
DELETE FROM item WHERE id = 2;
SELECT * FROM item_history ORDER BY id, version;
INSERT INTO item (id, name) VALUES (2, 'again');
INSERT INTO item (id, name) VALUES (2, 'again');
SELECT * FROM item ORDER BY id;
INSERT INTO item (id, name, version) VALUES (2, 'later', 10) RETURNING version;
INSERT INTO item VALUES (2, 'conflict', 9) ON CONFLICT (id) DO UPDATE SET name = excluded.name, price = excluded.price RETURNING *;
SELECT id, version, op, new_price FROM item_history ORDER BY id, version;
DROP TRIGGER b_keep ON item;
DELETE FROM item;
SELECT count(*) FROM item_history;
DROP FUNCTION versioned();
