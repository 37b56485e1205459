CREATE TABLE entry (id serial PRIMARY KEY, account integer NOT NULL, amount numeric(10, 2) NOT NULL);
CREATE TABLE balance (account integer PRIMARY KEY, total numeric(12, 2) NOT NULL, n integer NOT NULL);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP IN ('UPDATE', 'DELETE') THEN
    UPDATE balance SET total = total - OLD.amount, n = n - 1 WHERE account = OLD.account;
  END IF;
  IF TG_OP IN ('INSERT', 'UPDATE') THEN
    INSERT INTO balance VALUES (NEW.account, NEW.amount, 1) ON CONFLICT (account) DO UPDATE SET total = balance.total + excluded.total, n = balance.n + 1;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER kept AFTER INSERT OR UPDATE OR DELETE ON entry FOR EACH ROW EXECUTE FUNCTION keep();
INSERT INTO entry (account, amount) VALUES (1, 10), (1, 5.5), (2, -3);
SELECT * FROM balance ORDER BY account;
UPDATE entry SET amount = amount * 2 WHERE account = 1;
SELECT * FROM balance ORDER BY account;
UPDATE entry SET account = 2 WHERE id = 1;
DELETE FROM entry WHERE id = 3;
SELECT * FROM balance ORDER BY account;
INSERT INTO entry (account, amount) VALUES (1, 1), (NULL, 2);
SELECT * FROM balance ORDER BY account;
DROP TRIGGER kept ON entry;
INSERT INTO entry (account, amount) VALUES (1, 100);
SELECT total FROM balance WHERE account = 1;
DROP TRIGGER kept ON entry;
DROP TRIGGER IF EXISTS kept ON entry;
