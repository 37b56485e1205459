CREATE TABLE customer (c_w_id integer, c_d_id integer, c_id integer, c_first varchar(16), c_middle char(2), c_last varchar(16), c_credit char(2), c_balance numeric(12,2), c_data varchar(500), PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE history (h_c_id integer, h_c_d_id integer, h_c_w_id integer, h_amount numeric(6,2), h_data varchar(24));
INSERT INTO customer SELECT 1, 1, i, 'first' || i, 'OE', CASE WHEN i % 2 = 0 THEN 'BAR' ELSE 'OUGHT' END, CASE WHEN i = 3 THEN 'BC' ELSE 'GC' END, -10, 'data' FROM generate_series(1, 7) AS g(i);
CREATE OR REPLACE PROCEDURE PAYMENT (
p_w_id IN INTEGER, p_d_id IN INTEGER, byname IN INTEGER, p_h_amount IN NUMERIC,
p_c_credit INOUT CHAR(2), p_c_last INOUT VARCHAR, p_c_id INOUT INTEGER, p_c_balance INOUT NUMERIC, p_c_data INOUT VARCHAR )
AS $$
DECLARE
name_count SMALLINT;
p_c_first VARCHAR(16);
h_data VARCHAR(30);
c_byname CURSOR FOR SELECT c_first, c_id, c_credit, c_balance FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last ORDER BY c_first;
BEGIN
IF ( byname = 1 )
THEN
  SELECT count(c_last) INTO name_count FROM customer WHERE c_last = p_c_last AND c_d_id = p_d_id AND c_w_id = p_w_id;
  IF ( MOD (name_count, 2) = 1 ) THEN
    name_count := (name_count + 1);
  END IF;
  OPEN c_byname;
  FOR loop_counter IN 1 .. cast( name_count/2 AS INT)
  LOOP
    FETCH c_byname INTO p_c_first, p_c_id, p_c_credit, p_c_balance;
  END LOOP;
  CLOSE c_byname;
ELSE
  SELECT c_last, c_credit, c_balance INTO STRICT p_c_last, p_c_credit, p_c_balance FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;
END IF;
IF p_c_credit = 'BC'
THEN
  UPDATE customer SET c_balance = c_balance - p_h_amount, c_data = substr ((p_c_id || ' ' || p_d_id || ' ' || p_w_id || ' ' || to_char (p_h_amount, '9999.99') || ' | ') || c_data, 1, 500)
  WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id
  RETURNING c_balance, c_data INTO p_c_balance, p_c_data;
ELSE
  UPDATE customer SET c_balance = c_balance - p_h_amount WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id
  RETURNING c_balance, ' ' INTO p_c_balance, p_c_data;
END IF;
h_data := 'w' || p_w_id || '    ' || 'd' || p_d_id;
INSERT INTO history VALUES (p_c_id, p_d_id, p_w_id, p_h_amount, h_data);
EXCEPTION
  WHEN serialization_failure OR deadlock_detected OR no_data_found
  THEN ROLLBACK;
END; $$ LANGUAGE 'plpgsql';
CALL payment(1, 1, 0, 5.25, NULL, NULL, 3, NULL, NULL);
CALL payment(1, 1, 1, 7, NULL, 'BAR', NULL, NULL, NULL);
CALL payment(1, 1, 0, 1, NULL, NULL, 99, NULL, NULL);
SELECT c_id, c_balance, c_data FROM customer ORDER BY c_id;
SELECT * FROM history ORDER BY h_c_id;
