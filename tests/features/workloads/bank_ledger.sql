CREATE TABLE branch (id integer PRIMARY KEY, name varchar(20) NOT NULL);
CREATE TABLE account (id integer PRIMARY KEY, branch_id integer NOT NULL, owner varchar(30) NOT NULL, balance numeric(14,2) NOT NULL, currency char(3) NOT NULL DEFAULT 'EUR', closed boolean NOT NULL DEFAULT false);
CREATE TABLE ledger (account_id integer NOT NULL, entry integer NOT NULL, amount numeric(14,2) NOT NULL, balance_after numeric(14,2) NOT NULL, reason text, PRIMARY KEY (account_id, entry));
INSERT INTO branch VALUES (1, 'North'), (2, 'South');
INSERT INTO account (id, branch_id, owner, balance) VALUES (1, 1, 'Ann', 100), (2, 1, 'Bob', 50.25), (3, 2, 'Cid', 0), (4, 2, 'Dee', 12345678.90);
INSERT INTO account VALUES (5, 2, 'Eve', 10, 'USD', false), (6, 1, 'Old', 1, 'EUR', true);
CREATE FUNCTION post(p_account integer, p_amount numeric, p_reason text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  v_balance account.balance%TYPE;
  v_entry integer;
BEGIN
  UPDATE account SET balance = balance + p_amount WHERE id = p_account AND NOT closed RETURNING balance INTO v_balance;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'account % is unknown or closed', p_account USING ERRCODE = 'P0002', HINT = 'Open it first.';
  END IF;
  SELECT coalesce(max(entry), 0) + 1 INTO v_entry FROM ledger WHERE account_id = p_account;
  INSERT INTO ledger VALUES (p_account, v_entry, p_amount, v_balance, p_reason);
  RETURN v_balance;
END $$;
CREATE PROCEDURE transfer(p_from integer, p_to integer, p_amount numeric(14,2), INOUT p_left numeric DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  a account%ROWTYPE;
  b account%ROWTYPE;
BEGIN
  IF p_amount IS NULL OR p_amount <= 0 THEN
    RAISE EXCEPTION 'amount must be positive, not %', p_amount USING ERRCODE = '22023';
  END IF;
  SELECT * INTO STRICT a FROM account WHERE id = p_from FOR UPDATE;
  SELECT * INTO STRICT b FROM account WHERE id = p_to FOR UPDATE;
  IF a.currency <> b.currency THEN
    RAISE EXCEPTION 'cannot move % to %', a.currency, b.currency USING DETAIL = format('from %s to %s', a.owner, b.owner);
  END IF;
  IF a.balance < p_amount THEN
    RAISE EXCEPTION 'insufficient funds: % has %', a.owner, a.balance USING ERRCODE = 'check_violation';
  END IF;
  p_left := post(p_from, -p_amount, 'to ' || b.owner);
  PERFORM post(p_to, p_amount, 'from ' || a.owner);
END $$;
CALL transfer(1, 2, 30.5);
CALL transfer(1, 2, 100);
CALL transfer(1, 9, 1);
CALL transfer(9, 1, 1);
CALL transfer(1, 5, 1);
CALL transfer(1, 6, 1);
CALL transfer(1, 2, -5);
CALL transfer(1, 2, NULL);
CALL transfer(4, 3, 0.005);
CALL transfer(4, 3, 0.01);
CALL transfer(4, 3, 12345678.89);
CALL transfer(2, 1, 'x');
CALL transfer(2, 1);
CALL transfer(2, 1, 1, 2, 3);
SELECT * FROM account ORDER BY id;
SELECT * FROM ledger ORDER BY 1, 2;
SELECT b.name, sum(a.balance), count(*) FILTER (WHERE a.closed) FROM branch b JOIN account a ON a.branch_id = b.id GROUP BY b.name ORDER BY 1;
CREATE FUNCTION check_ledger() RETURNS TABLE (account integer, off numeric) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT l.account_id, l.balance_after - a.balance FROM ledger l JOIN account a ON a.id = l.account_id
    WHERE l.entry = (SELECT max(entry) FROM ledger m WHERE m.account_id = l.account_id) AND l.balance_after <> a.balance;
  IF NOT FOUND THEN RAISE NOTICE 'the ledger is right'; END IF;
END $$;
SELECT * FROM check_ledger();
CREATE PROCEDURE end_of_day(p_rate numeric, INOUT p_accounts integer DEFAULT 0, INOUT p_interest numeric DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v numeric(14,2);
BEGIN
  FOR r IN SELECT id, balance FROM account WHERE NOT closed AND balance > 0 ORDER BY id LOOP
    v := round(r.balance * p_rate / 365, 2);
    CONTINUE WHEN v = 0;
    PERFORM post(r.id, v, 'interest');
    p_accounts := p_accounts + 1;
    p_interest := p_interest + v;
  END LOOP;
END $$;
CALL end_of_day(0.035);
SELECT id, balance FROM account ORDER BY id;
SELECT account_id, entry, amount, balance_after, reason FROM ledger WHERE reason = 'interest' ORDER BY 1, 2;
SELECT * FROM check_ledger();
