-- Double-entry bookkeeping: transfers in a procedure, balances by trigger, a closed period, statements.
BEGIN;
CREATE TYPE entry_side AS ENUM ('debit', 'credit');
CREATE TABLE ledger_account (code varchar(10) PRIMARY KEY, name text NOT NULL, normal_side entry_side NOT NULL, balance numeric(14,2) NOT NULL DEFAULT 0);
CREATE TABLE ledger_transaction (id serial PRIMARY KEY, posted_on date NOT NULL, description text NOT NULL, closed boolean NOT NULL DEFAULT false);
CREATE TABLE ledger_entry (
  transaction_id integer NOT NULL REFERENCES ledger_transaction (id),
  line integer NOT NULL,
  account varchar(10) NOT NULL REFERENCES ledger_account (code),
  side entry_side NOT NULL,
  amount numeric(14,2) NOT NULL CHECK (amount > 0),
  PRIMARY KEY (transaction_id, line));
CREATE TYPE posting AS (account varchar(10), side entry_side, amount numeric(14,2));
CREATE FUNCTION apply_entry() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_side entry_side; v_sign integer;
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'entries are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  SELECT normal_side INTO v_side FROM ledger_account WHERE code = NEW.account;
  v_sign := CASE WHEN v_side = NEW.side THEN 1 ELSE -1 END;
  UPDATE ledger_account SET balance = balance + v_sign * NEW.amount WHERE code = NEW.account;
  RETURN NEW;
END $$;
CREATE TRIGGER apply_entry BEFORE INSERT OR DELETE ON ledger_entry FOR EACH ROW EXECUTE FUNCTION apply_entry();
CREATE FUNCTION post(p_on date, p_description text, p_entries json) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_id integer;
  v_entry record;
  v_line integer := 0;
  v_debits numeric := 0;
  v_credits numeric := 0;
BEGIN
  INSERT INTO ledger_transaction (posted_on, description) VALUES (p_on, p_description) RETURNING id INTO v_id;
  FOR v_entry IN SELECT * FROM json_to_recordset(p_entries) AS e (account varchar(10), side text, amount numeric) LOOP
    v_line := v_line + 1;
    INSERT INTO ledger_entry VALUES (v_id, v_line, v_entry.account, v_entry.side::entry_side, v_entry.amount);
    IF v_entry.side = 'debit' THEN
      v_debits := v_debits + v_entry.amount;
    ELSE
      v_credits := v_credits + v_entry.amount;
    END IF;
  END LOOP;
  IF v_debits <> v_credits THEN
    RAISE EXCEPTION 'transaction does not balance: % and %', v_debits, v_credits USING ERRCODE = 'check_violation';
  END IF;
  RETURN v_id;
END $$;
CREATE PROCEDURE transfer(p_from varchar, p_to varchar, p_amount numeric, INOUT p_id integer DEFAULT NULL) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM ledger_account WHERE code IN (p_from, p_to) ORDER BY code FOR UPDATE;
  IF (SELECT count(*) FROM ledger_account WHERE code IN (p_from, p_to)) < 2 THEN
    RAISE EXCEPTION USING MESSAGE = format('unknown account: %s or %s', p_from, p_to), ERRCODE = 'no_data_found';
  END IF;
  p_id := post(DATE '2024-03-01', 'transfer', json_build_array(
    json_build_object('account', p_to, 'side', 'debit', 'amount', p_amount),
    json_build_object('account', p_from, 'side', 'credit', 'amount', p_amount)));
END $$;
CREATE FUNCTION statement_of(p_account varchar) RETURNS TABLE (posted_on date, description text, amount numeric, running numeric) LANGUAGE sql STABLE AS $$
  SELECT t.posted_on, t.description, s.amount, sum(s.amount) OVER (ORDER BY t.id, s.line)
  FROM (SELECT e.transaction_id, e.line, CASE WHEN e.side = a.normal_side THEN e.amount ELSE -e.amount END AS amount
        FROM ledger_entry e JOIN ledger_account a ON a.code = e.account WHERE e.account = p_account) s
  JOIN ledger_transaction t ON t.id = s.transaction_id ORDER BY t.id, s.line
$$;
CREATE VIEW trial_balance AS
  SELECT sum(CASE WHEN normal_side = 'debit' THEN balance ELSE 0 END) AS debits, sum(CASE WHEN normal_side = 'credit' THEN balance ELSE 0 END) AS credits FROM ledger_account;
INSERT INTO ledger_account (code, name, normal_side) VALUES ('1000', 'Cash', 'debit'), ('1100', 'Bank', 'debit'), ('3000', 'Capital', 'credit'), ('4000', 'Sales', 'credit');
END;
SELECT post('2024-01-01', 'capital', '[{"account": "1100", "side": "debit", "amount": 1000}, {"account": "3000", "side": "credit", "amount": 1000}]');
SELECT post('2024-02-01', 'sale', '[{"account": "1000", "side": "debit", "amount": 99.5}, {"account": "4000", "side": "credit", "amount": 99.5}]');
SELECT post('2024-02-02', 'wrong', '[{"account": "1000", "side": "debit", "amount": 1}, {"account": "4000", "side": "credit", "amount": 2}]');
SELECT post('2024-02-02', 'unknown', '[{"account": "9999", "side": "debit", "amount": 1}]');
CALL transfer('1100', '1000', 250);
CALL transfer('1100', '7777', 1);
DELETE FROM ledger_entry WHERE transaction_id = 1;
SELECT code, balance FROM ledger_account ORDER BY code;
SELECT * FROM statement_of('1000');
SELECT * FROM trial_balance;
-- a closing run with a temporary table
CREATE FUNCTION close_period(p_until date) RETURNS TABLE (account varchar, moved numeric) LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMPORARY TABLE closing ON COMMIT DROP AS
    SELECT e.account AS code, sum(e.amount) AS total FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id
    WHERE t.posted_on <= p_until AND NOT t.closed GROUP BY e.account;
  UPDATE ledger_transaction t SET closed = true WHERE t.posted_on <= p_until AND NOT t.closed;
  RETURN QUERY SELECT c.code, c.total FROM closing c ORDER BY c.code;
END $$;
SELECT * FROM close_period('2024-02-28');
SELECT * FROM close_period('2024-12-31');
SELECT * FROM close_period('2024-12-31');
