CREATE TABLE accounts (account_id integer PRIMARY KEY, owner varchar(40) NOT NULL, balance numeric(14,2) NOT NULL);
CREATE TABLE transfers (transfer_id integer PRIMARY KEY, from_account integer, to_account integer, amount numeric(14,2), done_at timestamp);
INSERT INTO accounts VALUES (1, 'Ann', 500.00), (2, 'Bob', 100.00);
CREATE OR REPLACE PROCEDURE transfer(sender INT, receiver INT, amount DEC)
LANGUAGE plpgsql
AS $$
BEGIN
    -- subtracting the amount from the sender's account
    UPDATE accounts SET balance = balance - amount WHERE account_id = sender;
    -- adding the amount to the receiver's account
    UPDATE accounts SET balance = balance + amount WHERE account_id = receiver;
    COMMIT;
END;$$;
CALL transfer(1, 2, 100);
SELECT account_id, balance FROM accounts ORDER BY account_id;
CREATE OR REPLACE FUNCTION safe_transfer(p_from accounts.account_id%TYPE, p_to accounts.account_id%TYPE, p_amount numeric)
RETURNS boolean AS $BODY$
DECLARE
    v_balance accounts.balance%TYPE;
    v_state text; v_msg text;
BEGIN
    SELECT balance INTO STRICT v_balance FROM accounts WHERE account_id = p_from FOR UPDATE;
    IF v_balance < p_amount THEN
        RAISE EXCEPTION 'Insufficient funds: balance %, needed %', v_balance, p_amount
            USING ERRCODE = 'check_violation', HINT = 'Deposit first';
    END IF;
    UPDATE accounts SET balance = balance - p_amount WHERE account_id = p_from;
    UPDATE accounts SET balance = balance + p_amount WHERE account_id = p_to;
    IF NOT FOUND THEN RAISE EXCEPTION 'no receiver %', p_to; END IF;
    RETURN true;
EXCEPTION
    WHEN no_data_found THEN
        RAISE NOTICE 'account % missing', p_from;
        RETURN false;
    WHEN check_violation THEN
        GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_msg = MESSAGE_TEXT;
        RAISE NOTICE '%: %', v_state, v_msg;
        RETURN false;
    WHEN OTHERS THEN
        RAISE NOTICE 'failed: %', SQLERRM;
        RETURN false;
END;
$BODY$ LANGUAGE plpgsql;
SELECT safe_transfer(1, 2, 50);
SELECT safe_transfer(1, 2, 5000);
SELECT safe_transfer(9, 2, 1);
SELECT safe_transfer(1, 77, 1);
SELECT * FROM accounts ORDER BY account_id;
