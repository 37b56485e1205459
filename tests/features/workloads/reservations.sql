CREATE TABLE flight (f_id integer PRIMARY KEY, seats_total integer NOT NULL, seats_left integer NOT NULL, base_price numeric(8,2) NOT NULL, departs timestamp NOT NULL);
CREATE TABLE customer (c_id integer PRIMARY KEY, c_name text, c_balance numeric(10,2) NOT NULL, c_points bigint NOT NULL DEFAULT 0);
CREATE TABLE reservation (r_f_id integer, r_seat integer, r_c_id integer NOT NULL, r_price numeric(8,2) NOT NULL, PRIMARY KEY (r_f_id, r_seat));
CREATE UNIQUE INDEX one_seat_each ON reservation (r_f_id, r_c_id);
INSERT INTO flight VALUES (1, 3, 3, 100, '2024-05-01 08:30'), (2, 2, 2, 59.99, '2024-05-01 21:05:30');
INSERT INTO customer SELECT i, 'cust ' || i, 150 * i FROM generate_series(1, 5) g(i);
CREATE PROCEDURE book(p_f integer, p_c integer, p_seat integer, INOUT p_price numeric DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  f flight%ROWTYPE;
  full_share double precision;
  v_constraint text;
BEGIN
  SELECT * INTO f FROM flight WHERE f_id = p_f;
  IF NOT FOUND THEN RAISE EXCEPTION 'unknown flight %', p_f USING ERRCODE = 'undefined_object'; END IF;
  IF f.seats_left = 0 THEN RAISE EXCEPTION 'flight % is full', p_f USING ERRCODE = '53300'; END IF;
  IF p_seat NOT BETWEEN 1 AND f.seats_total THEN RAISE EXCEPTION 'no seat %', p_seat; END IF;
  full_share := 1 - f.seats_left::double precision / f.seats_total;
  p_price := round((f.base_price * (1 + full_share))::numeric, 2);
  BEGIN
    INSERT INTO reservation VALUES (p_f, p_seat, p_c, p_price);
  EXCEPTION WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
    IF v_constraint = 'one_seat_each' THEN
      RAISE EXCEPTION 'customer % has a seat already', p_c USING ERRCODE = 'RS001';
    END IF;
    RAISE EXCEPTION 'seat % is taken', p_seat USING ERRCODE = 'RS002';
  END;
  UPDATE customer SET c_balance = c_balance - p_price, c_points = c_points + trunc(p_price) WHERE c_id = p_c RETURNING c_balance INTO p_price;
  IF p_price < 0 THEN RAISE EXCEPTION 'customer % cannot pay', p_c; END IF;
  UPDATE flight SET seats_left = seats_left - 1 WHERE f_id = p_f;
END $$;
CREATE PROCEDURE cancel_booking(p_f integer, p_c integer) LANGUAGE plpgsql AS $$
DECLARE v numeric;
BEGIN
  DELETE FROM reservation WHERE r_f_id = p_f AND r_c_id = p_c RETURNING r_price INTO v;
  IF v IS NULL THEN RAISE WARNING 'nothing booked'; RETURN; END IF;
  UPDATE customer SET c_balance = c_balance + v * 0.8 WHERE c_id = p_c;
  UPDATE flight SET seats_left = seats_left + 1 WHERE f_id = p_f;
END $$;
CREATE FUNCTION free_seats(p_f integer) RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
DECLARE result integer[] := '{}';
BEGIN
  FOR i IN 1 .. (SELECT seats_total FROM flight WHERE f_id = p_f) LOOP
    IF NOT EXISTS (SELECT FROM reservation WHERE r_f_id = p_f AND r_seat = i) THEN result := result || i; END IF;
  END LOOP;
  RETURN result;
END $$;
CALL book(1, 1, 2);
CALL book(1, 1, 3);
CALL book(1, 2, 2);
CALL book(1, 2, 4);
CALL book(1, 2, 1);
SELECT free_seats(1), free_seats(2);
SELECT free_seats(3);
CALL book(1, 3, 3);
CALL book(1, 4, 3);
CALL book(9, 4, 3);
CALL book(2, 1, 1);
CALL cancel_booking(1, 2);
CALL cancel_booking(1, 2);
SELECT free_seats(1), array_length(free_seats(2), 1);
SELECT * FROM flight ORDER BY 1;
SELECT * FROM customer ORDER BY 1;
SELECT r_f_id, r_seat, r_c_id, r_price, extract(hour FROM departs), date_trunc('hour', departs) FROM reservation JOIN flight ON f_id = r_f_id ORDER BY 1, 2;
