-- TPC-C in stored procedures, in the style of a benchmark driver: positional arguments, INOUT results, handlers.
CREATE TABLE warehouse (w_id integer PRIMARY KEY, w_ytd numeric(12,2), w_tax numeric(4,4), w_name varchar(10), w_street_1 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9));
CREATE TABLE district (d_w_id integer, d_id smallint, d_next_o_id integer, d_ytd numeric(12,2), d_tax numeric(4,4), d_name varchar(10), PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_id integer, c_w_id integer, c_d_id smallint, c_first varchar(16), c_last varchar(16), c_credit char(2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt smallint, c_delivery_cnt smallint, c_data varchar(500), c_since timestamp with time zone, PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE INDEX customer_i2 ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
CREATE TABLE history (h_c_id integer, h_c_w_id integer, h_w_id integer, h_c_d_id smallint, h_d_id smallint, h_amount numeric(6,2), h_date timestamp with time zone, h_data varchar(24));
CREATE TABLE item (i_id integer PRIMARY KEY, i_name varchar(24), i_price numeric(5,2), i_data varchar(50));
CREATE TABLE stock (s_i_id integer, s_w_id integer, s_quantity smallint, s_ytd integer, s_order_cnt smallint, s_remote_cnt smallint, s_dist_01 char(24), s_dist_02 char(24), s_data varchar(50), PRIMARY KEY (s_i_id, s_w_id));
CREATE TABLE orders (o_id integer, o_w_id integer, o_d_id smallint, o_c_id integer, o_carrier_id smallint, o_ol_cnt smallint, o_all_local smallint, o_entry_d timestamp with time zone, PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE new_order (no_o_id integer, no_d_id smallint, no_w_id integer, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE order_line (ol_delivery_d timestamp with time zone, ol_o_id integer, ol_w_id integer, ol_i_id integer, ol_supply_w_id integer, ol_d_id smallint, ol_number smallint, ol_quantity smallint, ol_amount numeric(6,2), ol_dist_info char(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
INSERT INTO warehouse SELECT w, 300000, 0.05, 'w' || w, 'street', 'city', 'ST', '123456789' FROM generate_series(1, 2) w;
INSERT INTO district SELECT w, d, 1, 30000, 0.02, 'd' || d FROM generate_series(1, 2) w, generate_series(1, 2) d;
INSERT INTO customer SELECT c, w, d, 'first' || c, CASE WHEN c % 2 = 0 THEN 'BARBAR' ELSE 'OUGHT' END, CASE WHEN c % 3 = 0 THEN 'BC' ELSE 'GC' END, 0.1, -10, 10, 1, 0, repeat('d', 20), now() FROM generate_series(1, 2) w, generate_series(1, 2) d, generate_series(1, 6) c;
INSERT INTO item SELECT i, 'item ' || i, i * 1.25, CASE WHEN i % 4 = 0 THEN 'an original one' ELSE 'data' END FROM generate_series(1, 20) i;
INSERT INTO stock SELECT i, w, 20 + i, 0, 0, 0, 'dist one', 'dist two', CASE WHEN i % 4 = 0 THEN 'an original one' ELSE 'data' END FROM generate_series(1, 20) i, generate_series(1, 2) w;

CREATE OR REPLACE FUNCTION DBMS_RANDOM (INTEGER, INTEGER) RETURNS INTEGER AS $$
DECLARE
    start_int ALIAS FOR $1;
    end_int ALIAS FOR $2;
BEGIN
    RETURN trunc(random() * (end_int-start_int + 1) + start_int);
END;
$$ LANGUAGE 'plpgsql' STRICT;

CREATE OR REPLACE PROCEDURE NEWORD (
no_w_id         IN INTEGER,
no_max_w_id     IN INTEGER,
no_d_id         IN INTEGER,
no_c_id         IN INTEGER,
no_o_ol_cnt     IN INTEGER,
no_c_discount   INOUT NUMERIC,
no_c_last       INOUT VARCHAR,
no_c_credit     INOUT VARCHAR,
no_d_tax        INOUT NUMERIC,
no_w_tax        INOUT NUMERIC,
no_d_next_o_id  INOUT INTEGER,
tstamp          IN TIMESTAMP )
AS $$
DECLARE
    no_ol_supply_w_id   INTEGER;
    no_ol_i_id          INTEGER;
    no_ol_quantity      INTEGER;
    no_o_all_local      INTEGER;
    o_id                INTEGER;
    no_i_name           VARCHAR(24);
    no_i_price          NUMERIC(5,2);
    no_i_data           VARCHAR(50);
    no_s_quantity       NUMERIC(6);
    no_ol_amount        NUMERIC(6,2);
    no_s_data           VARCHAR(50);
    no_ol_dist_info     CHAR(24);
    no_s_dist_01        CHAR(24);
    no_s_dist_02        CHAR(24);
    item_id_array       INTEGER[];
    price_array         NUMERIC(5,2)[];
BEGIN
    no_o_all_local := 1;
    SELECT c_discount, c_last, c_credit, w_tax
    INTO no_c_discount, no_c_last, no_c_credit, no_w_tax
    FROM customer, warehouse
    WHERE warehouse.w_id = no_w_id AND customer.c_w_id = no_w_id AND
    customer.c_d_id = no_d_id AND customer.c_id = no_c_id;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = no_d_id AND d_w_id = no_w_id RETURNING d_next_o_id, d_tax INTO no_d_next_o_id, no_d_tax;
    o_id := no_d_next_o_id;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (o_id, no_d_id, no_w_id, no_c_id, tstamp, no_o_ol_cnt, no_o_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (o_id, no_d_id, no_w_id);
    FOR loop_counter IN 1 .. no_o_ol_cnt
    LOOP
        IF ((loop_counter = no_o_ol_cnt) AND (no_c_id = 5))
        THEN
            no_ol_i_id := 100001;
        ELSE
            no_ol_i_id := (no_c_id * 3 + loop_counter * 7) % 20 + 1;
        END IF;
        no_ol_supply_w_id := CASE WHEN loop_counter % 5 = 0 AND no_max_w_id > 1 THEN 3 - no_w_id ELSE no_w_id END;
        IF no_ol_supply_w_id <> no_w_id THEN no_o_all_local := 0; END IF;
        no_ol_quantity := loop_counter;
        SELECT i_price, i_name, i_data INTO STRICT no_i_price, no_i_name, no_i_data FROM item WHERE i_id = no_ol_i_id;
        SELECT s_quantity, s_data, s_dist_01, s_dist_02
        INTO no_s_quantity, no_s_data, no_s_dist_01, no_s_dist_02
        FROM stock WHERE s_i_id = no_ol_i_id AND s_w_id = no_ol_supply_w_id;
        IF ( no_s_quantity > no_ol_quantity )
        THEN
            no_s_quantity := ( no_s_quantity - no_ol_quantity );
        ELSE
            no_s_quantity := ( no_s_quantity - no_ol_quantity + 91 );
        END IF;
        UPDATE stock SET s_quantity = no_s_quantity, s_ytd = s_ytd + no_ol_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN no_ol_supply_w_id = no_w_id THEN 0 ELSE 1 END
        WHERE s_i_id = no_ol_i_id AND s_w_id = no_ol_supply_w_id;
        no_ol_amount := ( no_ol_quantity * no_i_price * ( 1 + no_w_tax + no_d_tax ) * ( 1 - no_c_discount ) );
        no_ol_dist_info := CASE no_d_id WHEN 1 THEN no_s_dist_01 WHEN 2 THEN no_s_dist_02 END;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
        VALUES (o_id, no_d_id, no_w_id, loop_counter, no_ol_i_id, no_ol_supply_w_id, no_ol_quantity, no_ol_amount, no_ol_dist_info);
        item_id_array := array_append(item_id_array, no_ol_i_id);
        price_array[loop_counter] := no_i_price;
    END LOOP;
    RAISE NOTICE 'items % prices %', item_id_array, price_array;
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found
    THEN RAISE NOTICE 'rolled back: %', SQLERRM; ROLLBACK;
END;
$$
LANGUAGE 'plpgsql';

CREATE OR REPLACE FUNCTION PAYMENT (INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, NUMERIC, VARCHAR, TIMESTAMP) RETURNS INTEGER AS $$
DECLARE
    p_w_id          ALIAS FOR $1;
    p_d_id          ALIAS FOR $2;
    p_c_w_id        ALIAS FOR $3;
    p_c_d_id        ALIAS FOR $4;
    p_c_id_in       ALIAS FOR $5;
    byname          ALIAS FOR $6;
    p_h_amount      ALIAS FOR $7;
    p_c_last_in     ALIAS FOR $8;
    tstamp          ALIAS FOR $9;
    p_c_last        VARCHAR;
    p_c_id          INTEGER;
    p_c_balance     NUMERIC;
    p_c_credit      CHAR(2);
    p_w_name        VARCHAR(11);
    p_d_name        VARCHAR(11);
    name_count      SMALLINT;
    p_c_data        VARCHAR(500);
    h_data          VARCHAR(30);
    c_byname CURSOR FOR
    SELECT c_id, c_balance, c_credit FROM customer
    WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last
    ORDER BY c_first;
BEGIN
    p_c_id := p_c_id_in;
    p_c_last := p_c_last_in;
    UPDATE warehouse SET w_ytd = w_ytd + p_h_amount WHERE w_id = p_w_id RETURNING w_name INTO p_w_name;
    UPDATE district SET d_ytd = d_ytd + p_h_amount WHERE d_w_id = p_w_id AND d_id = p_d_id RETURNING d_name INTO p_d_name;
    IF ( byname = 1 )
    THEN
        SELECT count(c_last) INTO name_count FROM customer WHERE c_last = p_c_last AND c_d_id = p_c_d_id AND c_w_id = p_c_w_id;
        IF ( MOD(name_count, 2) = 1 ) THEN
            name_count := (name_count + 1);
        END IF;
        OPEN c_byname;
        FOR loop_counter IN 1 .. cast( name_count/2 AS INT)
        LOOP
            FETCH c_byname INTO p_c_id, p_c_balance, p_c_credit;
        END LOOP;
        CLOSE c_byname;
    ELSE
        SELECT c_balance, c_credit, c_last INTO p_c_balance, p_c_credit, p_c_last FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id;
    END IF;
    p_c_balance := p_c_balance - p_h_amount;
    h_data := p_w_name || '    ' || p_d_name;
    IF p_c_credit = 'BC'
    THEN
        SELECT substr(p_c_id || ' ' || p_c_d_id || ' ' || p_c_w_id || ' ' || p_d_id || ' ' || p_w_id || ' ' || to_char(p_h_amount, '9999.99') || ' | ' || c_data, 1, 500) INTO p_c_data
        FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id;
        UPDATE customer SET c_balance = p_c_balance, c_data = p_c_data, c_ytd_payment = c_ytd_payment + p_h_amount WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id;
    ELSE
        UPDATE customer SET c_balance = p_c_balance, c_ytd_payment = c_ytd_payment + p_h_amount WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id;
    END IF;
    INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (p_c_d_id, p_c_w_id, p_c_id, p_d_id, p_w_id, tstamp, p_h_amount, h_data);
    RETURN p_c_id;
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RETURN -1;
END;
$$ LANGUAGE 'plpgsql';

CREATE OR REPLACE FUNCTION DELIVERY (INTEGER, INTEGER, TIMESTAMP) RETURNS INTEGER AS $$
DECLARE
    d_w_id          ALIAS FOR $1;
    d_o_carrier_id  ALIAS FOR $2;
    tstamp          ALIAS FOR $3;
    d_no_o_id       INTEGER;
    d_c_id          INTEGER;
    d_ol_total      NUMERIC;
    delivered       INTEGER := 0;
BEGIN
    FOR loop_counter IN 1 .. 2
    LOOP
        DELETE FROM new_order WHERE no_w_id = d_w_id AND no_d_id = loop_counter
            AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = loop_counter)
            RETURNING no_o_id INTO d_no_o_id;
        CONTINUE WHEN NOT FOUND;
        UPDATE orders SET o_carrier_id = d_o_carrier_id WHERE o_id = d_no_o_id AND o_d_id = loop_counter AND o_w_id = d_w_id RETURNING o_c_id INTO d_c_id;
        WITH lines AS (UPDATE order_line SET ol_delivery_d = tstamp WHERE ol_o_id = d_no_o_id AND ol_d_id = loop_counter AND ol_w_id = d_w_id RETURNING ol_amount)
        SELECT sum(ol_amount) INTO d_ol_total FROM lines;
        UPDATE customer SET c_balance = COALESCE(c_balance,0) + d_ol_total, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = d_c_id AND c_d_id = loop_counter AND c_w_id = d_w_id;
        delivered := delivered + 1;
    END LOOP;
    RETURN delivered;
END;
$$ LANGUAGE 'plpgsql';

CREATE OR REPLACE FUNCTION SLEV (INTEGER, INTEGER, INTEGER) RETURNS INTEGER AS $$
DECLARE
    st_w_id         ALIAS FOR $1;
    st_d_id         ALIAS FOR $2;
    threshold       ALIAS FOR $3;
    stock_count     INTEGER;
BEGIN
    SELECT COUNT(DISTINCT (s_i_id)) INTO stock_count
    FROM order_line, stock, district
    WHERE ol_w_id = st_w_id AND ol_d_id = st_d_id AND d_w_id = st_w_id AND d_id = st_d_id
    AND (ol_o_id < d_next_o_id + 1) AND ol_o_id >= (d_next_o_id - 20)
    AND s_w_id = st_w_id AND s_i_id = ol_i_id AND s_quantity < threshold;
    RETURN stock_count;
END;
$$ LANGUAGE 'plpgsql';

SELECT DBMS_RANDOM(3, 3);
CALL NEWORD(1, 2, 1, 1, 5, 0.0, '', '', 0.0, 0.0, 0, '2024-01-01 10:00:00');
CALL NEWORD(1, 2, 2, 2, 3, 0.0, '', '', 0.0, 0.0, 0, '2024-01-01 10:00:01');
CALL NEWORD(2, 2, 1, 5, 4, 0.0, '', '', 0.0, 0.0, 0, '2024-01-01 10:00:02');
SELECT PAYMENT(1, 1, 1, 1, 3, 0, 12.5, '', '2024-01-01 10:01:00');
SELECT PAYMENT(1, 1, 2, 2, 0, 1, 100, 'BARBAR', '2024-01-01 10:02:00');
SELECT DELIVERY(1, 7, '2024-01-01 11:00:00'), DELIVERY(2, 7, '2024-01-01 11:00:00');
SELECT SLEV(1, 1, 30);
SELECT o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt FROM orders ORDER BY 1, 2, 3;
SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_amount, ol_dist_info, ol_delivery_d FROM order_line ORDER BY 1, 2, 3, 4;
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_delivery_cnt, c_data FROM customer WHERE c_balance <> -10 ORDER BY 1, 2, 3;
SELECT w_id, w_ytd FROM warehouse ORDER BY 1;
SELECT h_c_id, h_amount, h_data, h_date FROM history ORDER BY h_date;
SELECT sum(s_ytd), sum(s_order_cnt), sum(s_remote_cnt) FROM stock;
