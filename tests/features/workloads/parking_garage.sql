CREATE TYPE vehicle AS ENUM ('bike', 'car', 'truck');
CREATE TABLE tariff (kind vehicle PRIMARY KEY, per_hour numeric(6, 2) NOT NULL CHECK (per_hour >= 0), day_max numeric(6, 2));
CREATE TABLE lot (no integer PRIMARY KEY, kind vehicle NOT NULL, level integer NOT NULL);
CREATE TABLE stay (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, plate text NOT NULL, lot integer NOT NULL REFERENCES lot, entered timestamp NOT NULL, gone timestamp, fee numeric(8, 2), CHECK (gone >= entered));
CREATE UNIQUE INDEX stay_lot ON stay (lot) WHERE gone IS NULL;
CREATE UNIQUE INDEX stay_plate ON stay (plate) WHERE gone IS NULL;
INSERT INTO tariff VALUES ('bike', 0.50, NULL), ('car', 2, 15), ('truck', 5, 40);
INSERT INTO lot SELECT g, CASE WHEN g <= 2 THEN 'bike' WHEN g <= 5 THEN 'car' ELSE 'truck' END::vehicle, (g + 2) / 3 FROM generate_series(1, 6) AS g;
CREATE FUNCTION fee_of(k vehicle, a timestamp, b timestamp) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  t tariff;
  hours integer := ceil(extract(epoch FROM b - a) / 3600);
BEGIN
  SELECT * INTO STRICT t FROM tariff WHERE kind = k;
  RETURN (hours / 24) * coalesce(t.day_max, t.per_hour * 24) + least((hours % 24) * t.per_hour, coalesce(t.day_max, 1000));
END $$;
CREATE PROCEDURE enter(p_plate text, p_kind vehicle, p_at timestamp, INOUT p_lot integer DEFAULT NULL) LANGUAGE plpgsql AS $$
BEGIN
  SELECT l.no INTO p_lot FROM lot l LEFT JOIN stay s ON s.lot = l.no AND s.gone IS NULL WHERE l.kind = p_kind AND s.id IS NULL ORDER BY l.no LIMIT 1;
  IF p_lot IS NULL THEN RAISE EXCEPTION 'full for %', p_kind USING ERRCODE = 'GA001', HINT = 'come back later'; END IF;
  INSERT INTO stay (plate, lot, entered) VALUES (upper(p_plate), p_lot, p_at);
EXCEPTION
  WHEN unique_violation THEN RAISE NOTICE '% is inside already', upper(p_plate); p_lot := -1;
END $$;
CREATE PROCEDURE leave(p_plate text, p_at timestamp, INOUT p_fee numeric DEFAULT NULL) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE stay SET gone = p_at, fee = fee_of(lot.kind, entered, p_at) FROM lot WHERE lot.no = stay.lot AND plate = upper(p_plate) AND gone IS NULL RETURNING fee INTO p_fee;
  IF NOT FOUND THEN RAISE EXCEPTION 'no such vehicle: %', p_plate USING ERRCODE = 'no_data_found'; END IF;
END $$;
SELECT fee_of('car', '2024-01-01 10:00', '2024-01-01 10:00'), fee_of('car', '2024-01-01 10:00', '2024-01-01 11:01'), fee_of('car', '2024-01-01 10:00', '2024-01-03 12:00'), fee_of('bike', '2024-01-01', '2024-01-02 01:00');
SELECT fee_of(NULL, '2024-01-01', '2024-01-02');
CALL enter('ab-1', 'car', '2024-01-01 08:00');
CALL enter('ab-2', 'car', '2024-01-01 09:00');
CALL enter('AB-1', 'car', '2024-01-01 09:30');
CALL enter('ab-3', 'car', '2024-01-01 10:00');
CALL enter('ab-4', 'car', '2024-01-01 10:00');
CALL enter('big', 'truck', '2024-01-01 10:00');
CALL enter('x', 'plane', '2024-01-01 10:00');
CALL leave('ab-1', '2024-01-01 10:30');
CALL leave('ab-1', '2024-01-01 10:30');
CALL leave('ab-2', '2024-01-01 08:30');
CALL enter('ab-4', 'car', '2024-01-01 11:00');
CALL leave('big', '2024-01-02 10:00');
CALL leave('ab-4', '2024-01-03 11:00:01');
SELECT id, plate, lot, gone - entered AS time, fee FROM stay ORDER BY id;
SELECT l.kind, count(s.id) FILTER (WHERE s.gone IS NULL) AS inside, coalesce(sum(s.fee), 0) AS income FROM lot l LEFT JOIN stay s ON s.lot = l.no GROUP BY l.kind ORDER BY l.kind;
SELECT level, string_agg(no || coalesce(':' || plate, ''), ' ' ORDER BY no) FROM lot LEFT JOIN stay ON lot = no AND gone IS NULL GROUP BY level ORDER BY level;
