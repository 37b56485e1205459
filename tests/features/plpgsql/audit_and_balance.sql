CREATE TABLE account (id integer PRIMARY KEY, balance numeric(12,2) NOT NULL CHECK (balance >= 0));
CREATE TABLE history (id serial PRIMARY KEY, account integer, before numeric(12,2), after numeric(12,2));
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO history (account, before, after) VALUES (NEW.id, OLD.balance, NEW.balance); RETURN NULL; END $$;
CREATE TRIGGER k AFTER UPDATE ON account FOR EACH ROW WHEN (OLD.balance IS DISTINCT FROM NEW.balance) EXECUTE FUNCTION keep();
CREATE PROCEDURE transfer(a integer, b integer, x numeric) LANGUAGE plpgsql AS $$ BEGIN
  IF x <= 0 THEN RAISE EXCEPTION 'amount must be positive' USING HINT = 'Swap the accounts.'; END IF;
  UPDATE account SET balance = balance - x WHERE id = a; UPDATE account SET balance = balance + x WHERE id = b;
  IF NOT FOUND THEN RAISE EXCEPTION 'no account %', b USING ERRCODE = 'no_data_found'; END IF; END $$;
INSERT INTO account VALUES (1, 100), (2, 50);
CALL transfer(1, 2, 30.25);
CALL transfer(1, 2, 1000);
CALL transfer(1, 9, 1);
CALL transfer(1, 2, -1);
UPDATE account SET balance = balance;
SELECT * FROM account ORDER BY id;
SELECT account, before, after FROM history ORDER BY id;
