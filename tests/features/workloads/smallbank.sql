CREATE TABLE accounts (custid bigint NOT NULL, name varchar(64) NOT NULL, CONSTRAINT pk_accounts PRIMARY KEY (custid));
CREATE INDEX idx_accounts_name ON accounts (name);
CREATE TABLE savings (custid bigint NOT NULL, bal double precision NOT NULL, CONSTRAINT pk_savings PRIMARY KEY (custid));
CREATE TABLE checking (custid bigint NOT NULL, bal double precision NOT NULL, CONSTRAINT pk_checking PRIMARY KEY (custid));
INSERT INTO accounts SELECT i, lpad(i::text, 12, '0') FROM generate_series(0, 9) g(i);
INSERT INTO savings SELECT custid, 1000 + custid FROM accounts;
INSERT INTO checking SELECT custid, 500.5 * custid FROM accounts;
CREATE FUNCTION id_of(p_name varchar) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint;
BEGIN
  SELECT custid INTO v FROM accounts WHERE name = p_name;
  IF v IS NULL THEN RAISE EXCEPTION 'Invalid account ''%''', p_name USING ERRCODE = 'SB001'; END IF;
  RETURN v;
END $$;
CREATE PROCEDURE balance(p_name varchar, OUT total double precision) LANGUAGE plpgsql AS $$
DECLARE v bigint := id_of(p_name);
BEGIN
  SELECT s.bal + c.bal INTO total FROM savings s, checking c WHERE s.custid = v AND c.custid = v;
END $$;
CREATE PROCEDURE deposit_checking(p_name varchar, p_amount double precision) LANGUAGE plpgsql AS $$
BEGIN
  IF p_amount < 0 THEN RAISE EXCEPTION 'negative deposit' USING ERRCODE = 'SB002'; END IF;
  UPDATE checking SET bal = bal + p_amount WHERE custid = id_of(p_name);
END $$;
CREATE PROCEDURE transact_savings(p_name varchar, p_amount double precision) LANGUAGE plpgsql AS $$
DECLARE
  v bigint := id_of(p_name);
  b double precision;
BEGIN
  SELECT bal INTO STRICT b FROM savings WHERE custid = v;
  IF b - p_amount < 0 THEN RAISE EXCEPTION 'Negative % balance for customer #%', 'savings', v; END IF;
  UPDATE savings SET bal = b - p_amount WHERE custid = v;
END $$;
CREATE PROCEDURE amalgamate(p_from bigint, p_to bigint) LANGUAGE plpgsql AS $$
DECLARE s double precision; c double precision;
BEGIN
  SELECT bal INTO STRICT s FROM savings WHERE custid = p_from;
  SELECT bal INTO STRICT c FROM checking WHERE custid = p_from;
  UPDATE savings SET bal = 0 WHERE custid = p_from;
  UPDATE checking SET bal = 0 WHERE custid = p_from;
  UPDATE checking SET bal = bal + s + c WHERE custid = p_to;
  IF NOT FOUND THEN RAISE EXCEPTION USING MESSAGE = 'no customer ' || p_to, ERRCODE = 'no_data_found'; END IF;
END $$;
CREATE PROCEDURE write_check(p_name varchar, p_amount double precision, INOUT penalty boolean DEFAULT false) LANGUAGE plpgsql AS $$
<<body>>
DECLARE
  custid bigint := id_of(p_name);
  total double precision;
BEGIN
  SELECT (SELECT bal FROM savings s WHERE s.custid = body.custid) + (SELECT bal FROM checking c WHERE c.custid = body.custid) INTO total;
  penalty := total < p_amount;
  UPDATE checking c SET bal = bal - CASE WHEN penalty THEN p_amount + 1 ELSE p_amount END WHERE c.custid = body.custid;
END $$;
CREATE PROCEDURE send_payment(p_from bigint, p_to bigint, p_amount double precision) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE checking SET bal = bal - p_amount WHERE custid = p_from AND bal >= p_amount;
  IF NOT FOUND THEN RAISE EXCEPTION 'Insufficient checking funds for customer #%', p_from USING ERRCODE = '22000'; END IF;
  UPDATE checking SET bal = bal + p_amount WHERE custid = p_to;
END $$;
CALL balance('000000000003', NULL);
CALL balance('nobody', NULL);
CALL deposit_checking('000000000001', 1.3);
CALL deposit_checking('000000000001', -1);
CALL transact_savings('000000000002', 20);
CALL transact_savings('000000000002', 1e6);
CALL amalgamate(4, 5);
CALL amalgamate(4, 50);
CALL amalgamate(40, 5);
CALL write_check('000000000006', 10);
CALL write_check('000000000006', 1e5);
CALL send_payment(7, 8, 100.25);
CALL send_payment(0, 8, 100.25);
SELECT a.custid, s.bal, c.bal FROM accounts a JOIN savings s USING (custid) JOIN checking c ON c.custid = a.custid ORDER BY 1;
SELECT sum(bal) FROM savings;
