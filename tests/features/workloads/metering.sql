CREATE TABLE meter (id integer PRIMARY KEY, unit text NOT NULL, factor numeric(6, 3) NOT NULL DEFAULT 1);
CREATE TABLE reading (meter integer REFERENCES meter ON DELETE CASCADE, at timestamp, val numeric(10, 2) NOT NULL, PRIMARY KEY (meter, at));
CREATE TABLE tariff_step (upto numeric(10, 2) PRIMARY KEY, price numeric(8, 4) NOT NULL);
INSERT INTO meter VALUES (1, 'kWh', DEFAULT), (2, 'm3', 10.5), (3, 'kWh', 1);
INSERT INTO tariff_step VALUES (100, 0.20), (500, 0.25), (99999, 0.40);
CREATE FUNCTION only_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE prev numeric; nxt numeric;
BEGIN
  SELECT val INTO prev FROM reading WHERE meter = NEW.meter AND at < NEW.at ORDER BY at DESC LIMIT 1;
  SELECT val INTO nxt FROM reading WHERE meter = NEW.meter AND at > NEW.at ORDER BY at LIMIT 1;
  IF NEW.val < prev OR NEW.val > nxt THEN RAISE EXCEPTION 'reading % of meter % out of order', NEW.val, NEW.meter USING ERRCODE = '22003', DETAIL = format('between %s and %s', prev, coalesce(nxt::text, 'anything')); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER only_up BEFORE INSERT ON reading FOR EACH ROW EXECUTE FUNCTION only_up();
COPY reading FROM STDIN (FORMAT csv);
1,2024-01-01 00:00,0
1,2024-01-31 00:00,90.5
1,2024-02-29 00:00,400
1,2024-03-31 00:00,1200
2,2024-01-01 00:00,5
2,2024-03-01 12:00,6.5
\.
INSERT INTO reading VALUES (1, '2024-02-10', 90.49);
INSERT INTO reading VALUES (1, '2024-02-10', 401);
INSERT INTO reading VALUES (1, '2024-02-10', 200);
INSERT INTO reading VALUES (9, '2024-02-10', 200);
CREATE FUNCTION used(m integer, a timestamp, b timestamp) RETURNS numeric LANGUAGE sql STABLE AS $$ SELECT (max(val) - min(val)) * (SELECT factor FROM meter WHERE id = m) FROM reading WHERE meter = m AND at BETWEEN a AND b $$;
CREATE FUNCTION price_of(q numeric) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE s tariff_step; below numeric := 0; total numeric := 0;
BEGIN
  IF q IS NULL THEN RETURN 0; END IF;
  FOR s IN SELECT * FROM tariff_step ORDER BY upto LOOP
    total := total + greatest(least(q, s.upto) - below, 0) * s.price;
    below := s.upto;
    EXIT WHEN q <= s.upto;
  END LOOP;
  RETURN round(total, 2);
END $$;
SELECT used(1, '2024-01-01', '2024-03-31'), used(2, '2024-01-01', '2024-12-31'), used(3, '2024-01-01', '2024-12-31'), used(9, '2024-01-01', '2024-12-31');
SELECT q, price_of(q) FROM (VALUES (0), (100), (100.5), (1200), (NULL)) AS v (q) ORDER BY q;
SELECT meter, at::date, val - lag(val) OVER w AS delta, at - lag(at) OVER w AS span, round((val - lag(val) OVER w) / nullif(extract(day FROM at - lag(at) OVER w), 0), 3) AS per_day FROM reading WINDOW w AS (PARTITION BY meter ORDER BY at) ORDER BY meter, at;
CREATE TABLE bill (meter integer, month date, qty numeric, amount numeric, PRIMARY KEY (meter, month));
CREATE PROCEDURE bill_month(m date) LANGUAGE plpgsql AS $$
DECLARE r record; n integer := 0;
BEGIN
  FOR r IN SELECT id FROM meter ORDER BY id LOOP
    INSERT INTO bill SELECT r.id, m, u, price_of(u) FROM (SELECT used(r.id, m, m + interval '1 month') AS u) AS x WHERE u > 0 ON CONFLICT (meter, month) DO UPDATE SET qty = excluded.qty, amount = excluded.amount;
    IF FOUND THEN n := n + 1; END IF;
  END LOOP;
  RAISE NOTICE '% bills for %', n, to_char(m, 'YYYY-MM');
END $$;
CALL bill_month('2024-01-01');
CALL bill_month('2024-02-01');
CALL bill_month('2024-01-01');
CALL bill_month('2030-01-01');
SELECT * FROM bill ORDER BY meter, month;
DELETE FROM meter WHERE id = 1;
SELECT meter, count(*) FROM reading GROUP BY meter ORDER BY 1;
SELECT to_char(month, 'FMMonth') AS month, sum(amount) FROM bill GROUP BY ROLLUP (1) ORDER BY 2;
