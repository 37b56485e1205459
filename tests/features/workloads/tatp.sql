CREATE TABLE subscriber (s_id integer NOT NULL PRIMARY KEY, sub_nbr varchar(15) NOT NULL UNIQUE, bit_1 smallint, bit_2 smallint, hex_1 smallint, byte2_1 smallint, msc_location integer, vlr_location integer);
CREATE TABLE access_info (s_id integer NOT NULL, ai_type smallint NOT NULL, data1 smallint, data2 smallint, data3 varchar(3), data4 varchar(5), PRIMARY KEY (s_id, ai_type));
CREATE TABLE special_facility (s_id integer NOT NULL, sf_type smallint NOT NULL, is_active smallint NOT NULL, error_cntrl smallint, data_a smallint, data_b varchar(5), PRIMARY KEY (s_id, sf_type));
CREATE TABLE call_forwarding (s_id integer NOT NULL, sf_type smallint NOT NULL, start_time smallint NOT NULL, end_time smallint, numberx varchar(15), PRIMARY KEY (s_id, sf_type, start_time));
INSERT INTO subscriber SELECT i, lpad(i::text, 15, '0'), (i % 2)::smallint, (i / 2 % 2)::smallint, (i % 16)::smallint, (i % 256)::smallint, i * 1000, -i FROM generate_series(1, 20) g(i);
INSERT INTO access_info SELECT s, t::smallint, (s * t % 256)::smallint, (s + t)::smallint, chr(65 + s % 26) || 'XY', NULL FROM generate_series(1, 20) a(s), generate_series(1, 4) b(t) WHERE t <= s % 4 + 1;
INSERT INTO special_facility SELECT s, t::smallint, (CASE WHEN (s * 7 + t) % 10 < 8 THEN 1 ELSE 0 END)::smallint, 0::smallint, (s % 100)::smallint, repeat('z', t) FROM generate_series(1, 20) a(s), generate_series(1, 4) b(t) WHERE t <= (s + 1) % 4 + 1;
INSERT INTO call_forwarding SELECT s_id, sf_type, (8 * k)::smallint, (8 * k + s_id % 8 + 1)::smallint, lpad((s_id * 100 + k)::text, 15, '0') FROM special_facility, generate_series(0, 2) c(k) WHERE (s_id + k) % 3 <> 0;
CREATE FUNCTION get_subscriber_data(p integer) RETURNS SETOF subscriber LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT * FROM subscriber WHERE s_id = p;
  IF NOT FOUND THEN RAISE no_data_found USING MESSAGE = 'subscriber ' || p || ' not found'; END IF;
END $$;
CREATE FUNCTION get_new_destination(p_s integer, p_sf smallint, p_start smallint, p_end smallint) RETURNS SETOF varchar LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
  FOR v IN SELECT cf.numberx FROM special_facility AS sf, call_forwarding AS cf
    WHERE sf.s_id = p_s AND sf.sf_type = p_sf AND sf.is_active = 1 AND cf.s_id = sf.s_id AND cf.sf_type = sf.sf_type
      AND cf.start_time <= p_start AND p_end < cf.end_time ORDER BY 1
  LOOP
    RETURN NEXT v.numberx;
  END LOOP;
  RETURN;
END $$;
CREATE PROCEDURE update_subscriber_data(p_s integer, p_sf smallint, p_bit smallint, p_data smallint, INOUT p_done integer DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE n integer;
BEGIN
  UPDATE subscriber SET bit_1 = p_bit WHERE s_id = p_s;
  GET DIAGNOSTICS n = ROW_COUNT;
  UPDATE special_facility SET data_a = p_data WHERE s_id = p_s AND sf_type = p_sf;
  GET DIAGNOSTICS p_done = ROW_COUNT;
  IF p_done = 0 THEN RAISE EXCEPTION 'facility %.% missing', p_s, p_sf USING ERRCODE = '02000'; END IF;
  p_done := p_done + n;
END $$;
CREATE PROCEDURE update_location(p_nbr varchar, p_vlr integer) LANGUAGE plpgsql AS $$
DECLARE v subscriber.s_id%TYPE;
BEGIN
  SELECT s_id INTO STRICT v FROM subscriber WHERE sub_nbr = p_nbr;
  UPDATE subscriber SET vlr_location = p_vlr WHERE s_id = v;
END $$;
CREATE PROCEDURE insert_call_forwarding(p_nbr varchar, p_sf smallint, p_start smallint, p_end smallint, p_number varchar, INOUT p_result text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
  v integer;
  types smallint[];
BEGIN
  SELECT s_id INTO v FROM subscriber WHERE sub_nbr = p_nbr;
  SELECT array_agg(sf_type ORDER BY sf_type) INTO types FROM special_facility WHERE s_id = v;
  IF types IS NULL OR NOT p_sf = ANY (types) THEN
    p_result := format('no facility %s in %s', p_sf, coalesce(types::text, 'nothing'));
    RETURN;
  END IF;
  INSERT INTO call_forwarding VALUES (v, p_sf, p_start, p_end, p_number);
  p_result := 'inserted';
EXCEPTION WHEN unique_violation THEN
  p_result := 'there already: ' || SQLERRM;
END $$;
CREATE PROCEDURE delete_call_forwarding(p_nbr varchar, p_sf smallint, p_start smallint) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM call_forwarding cf USING subscriber s WHERE s.sub_nbr = p_nbr AND cf.s_id = s.s_id AND sf_type = p_sf AND start_time = p_start;
  IF NOT FOUND THEN RAISE EXCEPTION 'nothing to delete'; END IF;
END $$;
SELECT * FROM get_subscriber_data(7);
SELECT * FROM get_subscriber_data(70);
SELECT get_new_destination(5, 1::smallint, 8::smallint, 10::smallint);
SELECT n FROM generate_series(1, 20) g(s), get_new_destination(s, 1::smallint, 16::smallint, 17::smallint) n ORDER BY 1;
CALL update_subscriber_data(3, 1::smallint, 0::smallint, 99::smallint);
CALL update_subscriber_data(3, 4::smallint, 0::smallint, 99::smallint);
CALL update_subscriber_data(3, 1, 0, 99);
CALL update_location('000000000000009', 123456);
CALL update_location('9', 123456);
CALL insert_call_forwarding('000000000000004', 1::smallint, 0::smallint, 5::smallint, '1');
CALL insert_call_forwarding('000000000000004', 1::smallint, 0::smallint, 5::smallint, '1');
CALL insert_call_forwarding('000000000000004', 9::smallint, 0::smallint, 5::smallint, '1');
CALL insert_call_forwarding('x', 1::smallint, 0::smallint, 5::smallint, '1');
CALL insert_call_forwarding('000000000000005', 1::smallint, 20::smallint, 5::smallint, '1234567890123456');
CALL delete_call_forwarding('000000000000004', 1::smallint, 0::smallint);
CALL delete_call_forwarding('000000000000004', 1::smallint, 0::smallint);
SELECT s_id, bit_1, vlr_location FROM subscriber WHERE s_id IN (3, 9) ORDER BY 1;
SELECT data1, data2, data3, data4 FROM access_info WHERE s_id = 6 AND ai_type = 2;
SELECT count(*), sum(start_time), min(numberx), max(end_time) FROM call_forwarding;
