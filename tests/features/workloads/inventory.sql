CREATE TABLE product (sku varchar(12) PRIMARY KEY, name text NOT NULL, price numeric(10,2) NOT NULL, tax_class char(1) NOT NULL);
CREATE TABLE stock (warehouse integer, sku varchar(12), on_hand integer NOT NULL, reserved integer NOT NULL DEFAULT 0, reorder_at integer, PRIMARY KEY (warehouse, sku));
CREATE TABLE shipment (id integer PRIMARY KEY, customer text NOT NULL, created date NOT NULL, total numeric(12,2) NOT NULL DEFAULT 0);
CREATE TABLE shipment_line (id integer, line smallint, sku varchar(12) NOT NULL, warehouse integer NOT NULL, quantity integer NOT NULL, amount numeric(12,2) NOT NULL, PRIMARY KEY (id, line));
CREATE TABLE reorder (sku varchar(12), asked date, quantity integer, PRIMARY KEY (sku, asked));
INSERT INTO product VALUES ('A-1', 'Bolt', 0.15, 'n'), ('B-2', 'Drill', 129.90, 'n'), ('C-3', 'Book', 24.00, 'r');
INSERT INTO stock VALUES (1, 'A-1', 1000, 0, 200), (2, 'A-1', 500, 0, NULL), (1, 'B-2', 3, 0, 2), (2, 'B-2', 4, 0, 2), (2, 'C-3', 10, 0, 5);
CREATE FUNCTION tax_rate(class char) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT CASE class WHEN 'n' THEN 0.19 WHEN 'r' THEN 0.07 ELSE 0 END $$;
CREATE FUNCTION take(p_sku varchar, p_quantity integer, p_warehouse OUT integer, p_got OUT integer) LANGUAGE plpgsql AS $$
BEGIN
  SELECT s.warehouse, least(p_quantity, s.on_hand - s.reserved) INTO p_warehouse, p_got
    FROM stock s WHERE s.sku = p_sku AND s.on_hand > s.reserved ORDER BY s.on_hand - s.reserved DESC, s.warehouse LIMIT 1;
  IF NOT FOUND THEN p_got := 0; RETURN; END IF;
  UPDATE stock SET on_hand = on_hand - p_got WHERE warehouse = p_warehouse AND sku = p_sku;
END $$;
CREATE PROCEDURE ship(p_id integer, p_customer text, p_skus varchar[], p_quantities integer[], p_day date, INOUT p_total numeric DEFAULT 0, INOUT p_missing text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
  open_quantity integer;
  place record;
  line smallint := 0;
  unit product.price%TYPE;
  class product.tax_class%TYPE;
  amount numeric(12,2);
BEGIN
  IF cardinality(p_skus) <> cardinality(p_quantities) THEN
    RAISE EXCEPTION 'lists of different length: % and %', array_length(p_skus, 1), array_length(p_quantities, 1);
  END IF;
  INSERT INTO shipment (id, customer, created) VALUES (p_id, p_customer, p_day);
  FOR i IN array_lower(p_skus, 1) .. array_upper(p_skus, 1) LOOP
    BEGIN
      SELECT price, tax_class INTO STRICT unit, class FROM product WHERE sku = p_skus[i];
    EXCEPTION WHEN no_data_found THEN
      p_missing := concat_ws(',', nullif(p_missing, ''), p_skus[i] || '?');
      CONTINUE;
    END;
    open_quantity := p_quantities[i];
    WHILE open_quantity > 0 LOOP
      place := take(p_skus[i], open_quantity);
      EXIT WHEN place.p_got = 0;
      line := line + 1;
      amount := place.p_got * unit * (1 + tax_rate(class));
      INSERT INTO shipment_line VALUES (p_id, line, p_skus[i], place.p_warehouse, place.p_got, amount);
      open_quantity := open_quantity - place.p_got;
      p_total := p_total + amount;
    END LOOP;
    IF open_quantity > 0 THEN p_missing := concat_ws(',', nullif(p_missing, ''), p_skus[i] || ':' || open_quantity); END IF;
  END LOOP;
  IF line = 0 THEN RAISE EXCEPTION 'nothing to ship for %', p_customer USING DETAIL = 'missing ' || p_missing; END IF;
  UPDATE shipment SET total = p_total WHERE id = p_id;
END $$;
CALL ship(1, 'Kim', ARRAY['A-1', 'B-2'], ARRAY[100, 5], '2024-01-31');
CALL ship(2, 'Lee', ARRAY['B-2', 'X-9', 'C-3'], ARRAY[5, 1, 4], '2024-02-29');
CALL ship(3, 'Moe', ARRAY['B-2', 'X-9'], ARRAY[5, 1], '2024-02-29');
CALL ship(2, 'Ned', ARRAY['A-1'], ARRAY[5], '2024-02-29');
CALL ship(4, 'Oda', ARRAY['A-1'], ARRAY[5, 6], '2024-02-29');
CALL ship(5, 'Pia', '{}', '{}', '2024-02-29');
CALL ship(6, NULL, '{A-1}', '{1}', '2024-02-29');
CALL ship(6, 'Quo', '{A-1}', '{1}', '2024-02-30');
SELECT * FROM stock ORDER BY 1, 2;
SELECT * FROM shipment ORDER BY 1;
SELECT * FROM shipment_line ORDER BY 1, 2;
CREATE FUNCTION plan_reorders(p_day date) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  c CURSOR FOR SELECT sku, sum(on_hand) AS have, max(reorder_at) AS floor FROM stock GROUP BY sku HAVING sum(on_hand) < 3 * max(reorder_at) ORDER BY sku;
  n integer := 0;
BEGIN
  FOR r IN c LOOP
    INSERT INTO reorder VALUES (r.sku, p_day, 5 * r.floor - r.have);
    n := n + 1;
  END LOOP;
  RETURN n;
END $$;
SELECT plan_reorders('2024-03-01');
SELECT plan_reorders('2024-03-01');
SELECT sku, asked, quantity, to_char(asked, 'DD Mon YYYY'), asked + 30 FROM reorder ORDER BY 1;
SELECT customer, total, round(total / nullif(sum(quantity), 0), 4) AS mean, string_agg(sku || 'x' || quantity, ' ' ORDER BY line) FROM shipment JOIN shipment_line USING (id) GROUP BY shipment.id, customer, total ORDER BY 1;
