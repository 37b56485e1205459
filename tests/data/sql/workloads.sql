-- Procedures of workloads that nothing else here knows: banks, subscribers, key-value stores, order books, queues.
-- SmallBank
CREATE TABLE sb_account (custid bigint PRIMARY KEY, name varchar(64) NOT NULL);
CREATE TABLE sb_savings (custid bigint PRIMARY KEY, bal numeric(12,2) NOT NULL);
CREATE TABLE sb_checking (custid bigint PRIMARY KEY, bal numeric(12,2) NOT NULL);
CREATE INDEX sb_account_name ON sb_account (name);
INSERT INTO sb_account SELECT i, 'cust' || i FROM generate_series(1, 20) g(i);
INSERT INTO sb_savings SELECT i, 1000 + i FROM generate_series(1, 20) g(i);
INSERT INTO sb_checking SELECT i, 100.50 FROM generate_series(1, 20) g(i);

CREATE PROCEDURE sb_balance(p_name varchar, OUT total numeric) LANGUAGE plpgsql AS $$
DECLARE v_id bigint; v_sav numeric; v_chk numeric;
BEGIN
  SELECT custid INTO STRICT v_id FROM sb_account WHERE name = p_name;
  SELECT bal INTO v_sav FROM sb_savings WHERE custid = v_id;
  SELECT bal INTO v_chk FROM sb_checking WHERE custid = v_id;
  total := v_sav + v_chk;
END $$;

CALL sb_balance('cust7', NULL);
CALL sb_balance('nobody', NULL);

CREATE PROCEDURE sb_transact(p_name text, p_amount numeric) LANGUAGE plpgsql AS $$
DECLARE v_id bigint; v_bal numeric(12,2);
BEGIN
  SELECT custid INTO v_id FROM sb_account WHERE name = p_name;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no customer %', p_name USING ERRCODE = 'P0404', HINT = 'Open an account.', DETAIL = 'looked in sb_account';
  END IF;
  UPDATE sb_savings SET bal = bal + p_amount WHERE custid = v_id RETURNING bal INTO v_bal;
  IF v_bal < 0 THEN
    RAISE EXCEPTION 'insufficient funds: % left', v_bal USING ERRCODE = 'check_violation';
  END IF;
END $$;

CALL sb_transact('cust3', 50.25);
CALL sb_transact('cust3', -5000);
CALL sb_transact('who', 1);
SELECT bal FROM sb_savings WHERE custid = 3;

CREATE PROCEDURE sb_amalgamate(a bigint, b bigint) LANGUAGE plpgsql AS $$
DECLARE total numeric;
BEGIN
  SELECT s.bal + c.bal INTO total FROM sb_savings s JOIN sb_checking c USING (custid) WHERE custid = a;
  UPDATE sb_checking SET bal = 0 WHERE custid = a;
  UPDATE sb_savings SET bal = 0 WHERE custid = a;
  UPDATE sb_checking SET bal = bal + total WHERE custid = b;
END $$;

CALL sb_amalgamate(4, 5);
CALL sb_amalgamate(400, 5);
SELECT bal FROM sb_checking WHERE custid IN (4, 5) ORDER BY custid;

CREATE PROCEDURE sb_write_check(p_id bigint, p_amount numeric, INOUT penalty boolean DEFAULT false) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  SELECT s.bal AS sav, c.bal AS chk INTO r FROM sb_savings s, sb_checking c WHERE s.custid = p_id AND c.custid = s.custid;
  IF r.sav + r.chk < p_amount THEN
    UPDATE sb_checking SET bal = bal - (p_amount + 1) WHERE custid = p_id;
    penalty := true;
  ELSE
    UPDATE sb_checking SET bal = bal - p_amount WHERE custid = p_id;
  END IF;
END $$;

CALL sb_write_check(6, 10);
CALL sb_write_check(6, 99999, false);
SELECT custid, bal FROM sb_checking WHERE custid = 6;
-- TATP
CREATE TABLE subscriber (s_id integer PRIMARY KEY, sub_nbr char(15) NOT NULL UNIQUE, bit_1 smallint, vlr_location integer);
CREATE TABLE special_facility (s_id integer NOT NULL, sf_type smallint NOT NULL, is_active smallint, data_a smallint, PRIMARY KEY (s_id, sf_type));
CREATE TABLE call_forwarding (s_id integer NOT NULL, sf_type smallint NOT NULL, start_time smallint NOT NULL, end_time smallint, numberx varchar(15), PRIMARY KEY (s_id, sf_type, start_time));
INSERT INTO subscriber SELECT i, lpad(i::text, 15, '0'), i % 2, i * 10 FROM generate_series(1, 10) g(i);
INSERT INTO special_facility SELECT i, t, 1, t * i FROM generate_series(1, 10) g(i), generate_series(1, 3) h(t);
INSERT INTO call_forwarding SELECT i, 1, t * 8, t * 8 + 4, '0' || i FROM generate_series(1, 10) g(i), generate_series(0, 1) h(t);

CREATE FUNCTION get_new_destination(p_s integer, p_sf integer, p_start integer, p_end integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE dest call_forwarding.numberx%TYPE;
BEGIN
  SELECT cf.numberx INTO dest FROM special_facility sf, call_forwarding cf
   WHERE sf.s_id = p_s AND sf.sf_type = p_sf AND sf.is_active = 1 AND cf.s_id = sf.s_id AND cf.sf_type = sf.sf_type
     AND cf.start_time <= p_start AND p_end < cf.end_time;
  RETURN coalesce(dest, 'none');
END $$;

SELECT get_new_destination(3, 1, 8, 9), get_new_destination(3, 2, 8, 9), get_new_destination(1, 1, 0, 100);

CREATE PROCEDURE update_location(p_nbr char, p_loc integer, OUT updated integer) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE subscriber SET vlr_location = p_loc WHERE sub_nbr = p_nbr;
  GET DIAGNOSTICS updated = ROW_COUNT;
END $$;

CALL update_location('000000000000004', 77, NULL);
CALL update_location('4', 77, NULL);

CREATE PROCEDURE insert_forwarding(p_nbr text, p_sf smallint, p_start smallint, p_end smallint, p_num text, OUT state text) LANGUAGE plpgsql AS $$
DECLARE v_id integer;
BEGIN
  SELECT s_id INTO STRICT v_id FROM subscriber WHERE sub_nbr = p_nbr;
  BEGIN
    INSERT INTO call_forwarding VALUES (v_id, p_sf, p_start, p_end, p_num);
    state := 'inserted';
  EXCEPTION
    WHEN unique_violation THEN state := 'duplicate ' || SQLSTATE;
    WHEN string_data_right_truncation THEN state := 'too long: ' || SQLERRM;
  END;
EXCEPTION WHEN no_data_found THEN state := 'no subscriber';
END $$;

CALL insert_forwarding('000000000000002', 1::smallint, 16::smallint, 20::smallint, '123', NULL);
CALL insert_forwarding('000000000000002', 1::smallint, 16::smallint, 20::smallint, '123', NULL);
CALL insert_forwarding('000000000000002', 1::smallint, 17::smallint, 20::smallint, '1234567890123456789', NULL);
CALL insert_forwarding('nix', 1::smallint, 17::smallint, 20::smallint, '1', NULL);
SELECT count(*), max(start_time) FROM call_forwarding WHERE s_id = 2;
-- A key-value store
CREATE TABLE usertable (ycsb_key varchar(32) PRIMARY KEY, field1 text, field2 text, version integer NOT NULL DEFAULT 0);
CREATE PROCEDURE ycsb_load(n integer) LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..n LOOP INSERT INTO usertable (ycsb_key, field1, field2) VALUES ('user' || lpad(i::text, 4, '0'), 'a' || i, 'b' || i); END LOOP; END $$;
CALL ycsb_load(50);

CREATE PROCEDURE ycsb_scan(p_from text, p_count integer, OUT keys text, OUT n integer) LANGUAGE plpgsql AS $$
DECLARE r usertable%ROWTYPE;
BEGIN
  keys := ''; n := 0;
  FOR r IN SELECT * FROM usertable WHERE ycsb_key >= p_from ORDER BY ycsb_key LIMIT p_count LOOP
    keys := keys || r.ycsb_key || ' ';
    n := n + 1;
  END LOOP;
END $$;

CALL ycsb_scan('user0010', 5, NULL, NULL);
CALL ycsb_scan('user0048', 5, NULL, NULL);
CALL ycsb_scan('z', 5, NULL, NULL);

CREATE PROCEDURE ycsb_rmw(p_key text, p_value text, OUT old text, OUT v integer) LANGUAGE plpgsql AS $$
BEGIN
  SELECT field1 INTO old FROM usertable WHERE ycsb_key = p_key;
  UPDATE usertable SET field1 = p_value, version = version + 1 WHERE ycsb_key = p_key RETURNING version INTO v;
  IF NOT FOUND THEN RAISE no_data_found USING MESSAGE = 'key ' || p_key || ' is unknown'; END IF;
END $$;

CALL ycsb_rmw('user0001', 'new', NULL, NULL);
CALL ycsb_rmw('user0001', 'newer', NULL, NULL);
CALL ycsb_rmw('nokey', 'newer', NULL, NULL);
-- Upserts
CREATE TABLE counters (name text PRIMARY KEY, n bigint NOT NULL DEFAULT 0);

CREATE PROCEDURE bump(p text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE counters SET n = n + 1 WHERE name = p;
  IF NOT FOUND THEN
    BEGIN
      INSERT INTO counters (name, n) VALUES (p, 1);
    EXCEPTION WHEN unique_violation THEN
      UPDATE counters SET n = n + 1 WHERE name = p;
    END;
  END IF;
END $$;

CALL bump('x');
CALL bump('x');
SELECT n FROM counters WHERE name = 'x';
-- Transfers whose steps fail on their own
CREATE TABLE acct (id integer PRIMARY KEY, owner text NOT NULL, bal integer NOT NULL);
CREATE TABLE journal (n integer PRIMARY KEY, src integer, dst integer, amount integer, outcome text);
INSERT INTO acct VALUES (1, 'ann', 100), (2, 'bob', 50), (3, 'cy', 0);

CREATE PROCEDURE transfer(src integer, dst integer, amount integer) LANGUAGE plpgsql AS $$
DECLARE b integer;
BEGIN
  IF amount <= 0 THEN RAISE EXCEPTION 'invalid amount %', amount USING ERRCODE = '22023'; END IF;
  UPDATE acct SET bal = bal - amount WHERE id = src RETURNING bal INTO STRICT b;
  IF b < 0 THEN RAISE EXCEPTION USING ERRCODE = 'P0001', MESSAGE = 'account ' || src || ' is overdrawn by ' || -b; END IF;
  UPDATE acct SET bal = bal + amount WHERE id = dst;
  IF NOT FOUND THEN RAISE foreign_key_violation USING MESSAGE = 'no account ' || dst; END IF;
END $$;

CREATE PROCEDURE transfers(srcs integer[], dsts integer[], amounts integer[], OUT done integer, OUT failed integer) LANGUAGE plpgsql AS $$
DECLARE i integer; why text;
BEGIN
  done := 0; failed := 0;
  FOR i IN 1..array_length(srcs, 1) LOOP
    BEGIN
      CALL transfer(srcs[i], dsts[i], amounts[i]);
      done := done + 1; why := 'ok';
    EXCEPTION
      WHEN foreign_key_violation OR no_data_found THEN failed := failed + 1; why := 'account: ' || SQLERRM;
      WHEN OTHERS THEN failed := failed + 1; why := SQLSTATE || ' ' || SQLERRM;
    END;
    INSERT INTO journal VALUES (i, srcs[i], dsts[i], amounts[i], why);
  END LOOP;
END $$;

CALL transfers(ARRAY[1, 1, 2, 9, 2, 3], ARRAY[2, 3, 7, 1, 3, 1], ARRAY[30, 500, 5, 5, 20, 0], NULL, NULL);
SELECT * FROM journal ORDER BY n;
SELECT * FROM acct ORDER BY id;
-- An order book
CREATE TABLE book (id integer PRIMARY KEY, side char(1) NOT NULL, price numeric(10,2) NOT NULL, qty integer NOT NULL);
CREATE INDEX book_side ON book (side, price);
CREATE TABLE trades (n integer PRIMARY KEY, maker integer, taker integer, price numeric(10,2), qty integer);

CREATE PROCEDURE place(p_id integer, p_side char, p_price numeric, p_qty integer, OUT filled integer, OUT rest integer) LANGUAGE plpgsql AS $$
DECLARE o record; q integer; next_trade integer;
BEGIN
  filled := 0; rest := p_qty;
  SELECT coalesce(max(n), 0) INTO next_trade FROM trades;
  <<matching>>
  LOOP
    IF p_side = 'B' THEN
      SELECT id, price, qty INTO o FROM book WHERE side = 'S' AND price <= p_price ORDER BY price, id LIMIT 1;
    ELSE
      SELECT id, price, qty INTO o FROM book WHERE side = 'B' AND price >= p_price ORDER BY price DESC, id LIMIT 1;
    END IF;
    EXIT matching WHEN NOT FOUND OR rest = 0;
    q := least(o.qty, rest);
    next_trade := next_trade + 1;
    INSERT INTO trades VALUES (next_trade, o.id, p_id, o.price, q);
    IF q = o.qty THEN DELETE FROM book WHERE id = o.id; ELSE UPDATE book SET qty = qty - q WHERE id = o.id; END IF;
    filled := filled + q; rest := rest - q;
  END LOOP matching;
  IF rest > 0 THEN INSERT INTO book VALUES (p_id, p_side, p_price, rest); END IF;
END $$;

CALL place(1, 'S', 10.5, 100, NULL, NULL);
CALL place(2, 'S', 10.4, 50, NULL, NULL);
CALL place(3, 'B', 10.4, 70, NULL, NULL);
CALL place(4, 'B', 11, 30, NULL, NULL);
CALL place(5, 'S', 9, 25, NULL, NULL);
SELECT * FROM trades ORDER BY n;
SELECT * FROM book ORDER BY id;
-- A queue
CREATE TABLE jobs (id integer PRIMARY KEY, state text NOT NULL DEFAULT 'new', attempts integer NOT NULL DEFAULT 0, payload text);
INSERT INTO jobs (id, payload) SELECT i, CASE WHEN i % 3 = 0 THEN 'bad' ELSE 'p' || i END FROM generate_series(1, 9) g(i);

CREATE PROCEDURE work_all(max_attempts integer DEFAULT 2, INOUT finished integer DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE job jobs%ROWTYPE; n integer := 0;
BEGIN
  WHILE true LOOP
    SELECT * INTO job FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1;
    IF NOT FOUND THEN EXIT; END IF;
    n := n + 1;
    IF n > 100 THEN RAISE EXCEPTION 'runs away'; END IF;
    BEGIN
      IF job.payload = 'bad' THEN RAISE EXCEPTION 'job % is bad', job.id; END IF;
      UPDATE jobs SET state = 'done' WHERE id = job.id;
      finished := finished + 1;
    EXCEPTION WHEN raise_exception THEN
      UPDATE jobs SET attempts = attempts + 1, state = CASE WHEN attempts + 1 >= max_attempts THEN 'dead' ELSE 'new' END WHERE id = job.id;
      RAISE NOTICE 'failed: %', SQLERRM;
    END;
  END LOOP;
END $$;

CALL work_all();
SELECT state, count(*), sum(attempts) FROM jobs GROUP BY state ORDER BY state;
-- Recursion
CREATE TABLE tree (id integer PRIMARY KEY, parent integer, weight integer);
INSERT INTO tree VALUES (1, NULL, 1), (2, 1, 2), (3, 1, 3), (4, 2, 4), (5, 4, 5);

CREATE PROCEDURE subtree(node integer, depth integer, INOUT total integer, INOUT deepest integer) LANGUAGE plpgsql AS $$
DECLARE c record;
BEGIN
  total := total + (SELECT weight FROM tree WHERE id = node);
  deepest := greatest(deepest, depth);
  FOR c IN SELECT id FROM tree WHERE parent = node ORDER BY id LOOP
    CALL subtree(c.id, depth + 1, total, deepest);
  END LOOP;
END $$;

CALL subtree(1, 0, 0, 0);
CALL subtree(2, 0, 10, 0);

CREATE FUNCTION ackermann(m integer, n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN m = 0 THEN n + 1 WHEN n = 0 THEN ackermann(m - 1, 1) ELSE ackermann(m - 1, ackermann(m, n - 1)) END; END $$;
SELECT ackermann(2, 3);
-- Arrays
DO $$ DECLARE a integer[] := '{}'; s integer := 0; x integer; BEGIN FOR i IN 1..5 LOOP a := a || i; END LOOP; a := array_append(a, 6); FOREACH x IN ARRAY a LOOP s := s + x; END LOOP; RAISE NOTICE '% % %', a, s, array_length(a, 1); END $$;
DO $$ DECLARE a text[] := ARRAY['x','y']; BEGIN a := 'w' || a; a := a || ARRAY['z']; a[2] := 'Q'; RAISE NOTICE '% %', a, a[2:3]; END $$;
DO $$ DECLARE a integer[]; BEGIN a[3] := 7; RAISE NOTICE '% %', a, a[1]; SELECT array_agg(id ORDER BY id) INTO a FROM tree; RAISE NOTICE '% %', a, a[2:3]; IF 4 = ANY (a) THEN RAISE NOTICE 'has 4'; END IF; END $$;
DO $$ DECLARE a integer[] := ARRAY[3,1,2]; b integer[]; BEGIN SELECT array_agg(x) INTO b FROM (SELECT x FROM unnest(a) AS u(x) ORDER BY x) s; RAISE NOTICE '%', b; END $$;
-- Names in branches not taken
DO $$ BEGIN IF false THEN INSERT INTO no_such_table VALUES (1); END IF; RAISE NOTICE 'fine'; END $$;
DO $$ DECLARE x integer := 1; BEGIN IF x > 5 THEN SELECT nocol INTO x FROM acct; ELSE RAISE NOTICE 'else'; END IF; END $$;
DO $$ BEGIN INSERT INTO no_such_table VALUES (1); EXCEPTION WHEN undefined_table THEN RAISE NOTICE 'caught %', SQLERRM; END $$;
DO $$ BEGIN PERFORM no_such_function(1); EXCEPTION WHEN undefined_function THEN RAISE NOTICE 'caught'; END $$;
DO $$ BEGIN IF false THEN CALL no_such_procedure(1); END IF; RAISE NOTICE 'fine'; END $$;

DO $$ DECLARE n integer := 0; BEGIN WHILE n < 3 LOOP n := n + 1; BEGIN IF n = 2 THEN n := n + nosuch; END IF; EXCEPTION WHEN undefined_column THEN RAISE NOTICE 'caught at %: %', n, SQLERRM; END; END LOOP; END $$;
DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM nowhere LOOP NULL; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;
DO $$ BEGIN RAISE NOTICE 'before'; PERFORM 1 + 'x'; EXCEPTION WHEN invalid_text_representation THEN RAISE NOTICE 'after'; END $$;
DO $$ DECLARE x integer; BEGIN RAISE NOTICE 'before'; x := nosuch + 1; END $$;

CREATE PROCEDURE maybe(p boolean) LANGUAGE plpgsql AS $$ BEGIN UPDATE acct SET bal = bal + 1 WHERE id = 1; IF p THEN UPDATE missing_table SET a = 1; END IF; END $$;

CALL maybe(false);
CALL maybe(true);
CREATE TABLE missing_table (a integer);
CALL maybe(true);
SELECT bal FROM acct WHERE id = 1;
-- Records whose shape depends on the path
DO $$ DECLARE r record; BEGIN FOR i IN 1..2 LOOP IF i = 1 THEN SELECT 1 AS a, 'x' AS b INTO r; RAISE NOTICE '% %', r.a, r.b; ELSE SELECT id, bal INTO r FROM acct WHERE id = 2; RAISE NOTICE '% %', r.id, r.bal; END IF; END LOOP; END $$;
DO $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; RAISE NOTICE '%', r.a; SELECT 'two' AS b, 3 AS c INTO r; RAISE NOTICE '% %', r.b, r.c; END $$;
DO $$ DECLARE r record; BEGIN RAISE NOTICE '%', r.a; END $$;
-- Functions in SQL
CREATE FUNCTION add_tax(p numeric) RETURNS numeric LANGUAGE sql AS $$ SELECT round(p * 1.19, 2) $$;
SELECT add_tax(100), add_tax(9.99);
CREATE FUNCTION total_of(p_owner text) RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT sum(bal) FROM acct WHERE owner = p_owner $$;
SELECT total_of('ann'), total_of('nobody');
CREATE FUNCTION add_two(integer, integer DEFAULT 5) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
SELECT add_two(1), add_two(1, 2);
CREATE PROCEDURE pay_all(x integer) LANGUAGE sql AS $$ UPDATE acct SET bal = bal + x; INSERT INTO journal VALUES (100, 0, 0, x, 'all'); $$;
CALL pay_all(3);
SELECT bal FROM acct ORDER BY id;
-- Errors
DO $$ BEGIN RAISE EXCEPTION 'custom' USING ERRCODE = 'ZX001'; EXCEPTION WHEN SQLSTATE 'ZX001' THEN RAISE NOTICE 'got %', SQLSTATE; END $$;
DO $$ DECLARE m text; d text; h text; s text; BEGIN RAISE EXCEPTION 'msg' USING DETAIL = 'det', HINT = 'hnt'; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT, s = RETURNED_SQLSTATE; RAISE NOTICE '% % % %', m, d, h, s; END $$;
DO $$ BEGIN BEGIN RAISE EXCEPTION 'inner'; EXCEPTION WHEN OTHERS THEN RAISE; END; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'outer caught %', SQLERRM; END $$;
DO $$ BEGIN RAISE division_by_zero; END $$;
DO $$ BEGIN RAISE unique_violation USING MESSAGE = 'dup', DETAIL = 'key 1'; END $$;
DO $$ BEGIN PERFORM 1/0; EXCEPTION WHEN division_by_zero THEN RAISE WARNING 'div'; RAISE INFO 'info'; END $$;
DO $$ BEGIN ASSERT 1 > 2, 'not so'; END $$;
-- SQL functions: columns before parameters, the last statement's first row
CREATE FUNCTION bal(id integer) RETURNS integer LANGUAGE sql AS $$ SELECT acct.bal FROM acct WHERE acct.id = $1 -- one
$$;
SELECT bal(1), bal(77);
CREATE FUNCTION first_owner() RETURNS text LANGUAGE sql AS $$ SELECT owner FROM acct ORDER BY owner DESC; $$;
SELECT first_owner();
CREATE FUNCTION put(p_id integer, p_owner text) RETURNS integer LANGUAGE sql AS $$ DELETE FROM acct WHERE id = p_id; INSERT INTO acct VALUES (p_id, p_owner, 5) RETURNING bal * 2 $$;
SELECT put(9, 'zoe');
SELECT put(9, 'zed');
SELECT * FROM acct ORDER BY id;
CREATE FUNCTION forget(p_id integer) RETURNS void LANGUAGE sql AS $$ DELETE FROM acct WHERE id = p_id $$;
-- differs: NULL there, where PL/pgSQL's void is an empty text
SELECT forget(9);
SELECT count(*) FROM acct;
CREATE FUNCTION wrong() RETURNS integer LANGUAGE sql AS $$ DELETE FROM acct $$;
CREATE FUNCTION wrong() RETURNS integer LANGUAGE sql AS $$ SELEC 1 $$;
-- Names that mean both
DO $$ #variable_conflict use_column
DECLARE bal integer := 7; n integer; BEGIN SELECT max(bal) INTO n FROM acct; RAISE NOTICE '%', n; END $$;
DO $$ #variable_conflict use_variable
DECLARE bal integer := 7; n integer; BEGIN SELECT max(bal) INTO n FROM acct; RAISE NOTICE '%', n; END $$;
DO $$ DECLARE bal integer := 7; n integer; BEGIN SELECT max(bal) INTO n FROM acct; END $$;
-- Cursors, dynamic SQL
DO $$ DECLARE c CURSOR FOR SELECT id FROM acct ORDER BY id; x integer; BEGIN OPEN c; LOOP FETCH c INTO x; EXIT WHEN NOT FOUND; RAISE NOTICE '%', x; END LOOP; CLOSE c; END $$;
DO $$ DECLARE n integer; BEGIN EXECUTE 'SELECT count(*) FROM acct WHERE bal > $1' INTO n USING 10; RAISE NOTICE '%', n; END $$;
