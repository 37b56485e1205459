CREATE TABLE book_order (id bigint PRIMARY KEY, symbol varchar(6) NOT NULL, side char(1) NOT NULL, price numeric(10,4), quantity bigint NOT NULL, open bigint NOT NULL, trader integer NOT NULL);
CREATE TABLE trade (no bigint PRIMARY KEY, buy_id bigint NOT NULL, sell_id bigint NOT NULL, price numeric(10,4) NOT NULL, quantity bigint NOT NULL);
CREATE TABLE counter (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO counter VALUES ('order', 0), ('trade', 0);
CREATE FUNCTION next_value(p_name text) RETURNS bigint LANGUAGE sql AS $$ UPDATE counter SET value = value + 1 WHERE name = p_name RETURNING value $$;
CREATE FUNCTION opposite(side char) RETURNS char LANGUAGE sql IMMUTABLE AS 'SELECT CASE $1 WHEN ''B'' THEN ''S'' WHEN ''S'' THEN ''B'' END';
CREATE PROCEDURE place(p_symbol varchar, p_side char, p_price numeric, p_quantity bigint, p_trader integer, INOUT p_filled bigint DEFAULT 0, INOUT p_cost numeric DEFAULT 0, INOUT p_id bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  other record;
  part bigint;
BEGIN
  IF opposite(p_side) IS NULL THEN RAISE EXCEPTION 'side is B or S, not "%"', p_side USING ERRCODE = 'invalid_parameter_value'; END IF;
  IF p_quantity % 10 <> 0 THEN RAISE EXCEPTION 'lots of 10' USING ERRCODE = '22023', HINT = format('Try %s.', p_quantity - p_quantity % 10); END IF;
  p_id := next_value('order');
  INSERT INTO book_order VALUES (p_id, p_symbol, p_side, p_price, p_quantity, p_quantity, p_trader);
  <<matching>>
  FOR other IN
    SELECT * FROM book_order o WHERE o.symbol = p_symbol AND o.side = opposite(p_side) AND o.open > 0
      AND (p_price IS NULL OR CASE p_side WHEN 'B' THEN o.price <= p_price ELSE o.price >= p_price END)
    ORDER BY CASE WHEN p_side = 'B' THEN o.price ELSE -o.price END NULLS LAST, o.id
  LOOP
    CONTINUE matching WHEN other.trader = p_trader OR other.price IS NULL;
    part := least(other.open, p_quantity - p_filled);
    UPDATE book_order SET open = open - part WHERE id IN (other.id, p_id);
    INSERT INTO trade SELECT next_value('trade'), CASE p_side WHEN 'B' THEN p_id ELSE other.id END, CASE p_side WHEN 'B' THEN other.id ELSE p_id END, other.price, part;
    p_filled := p_filled + part;
    p_cost := p_cost + part * other.price;
    EXIT matching WHEN p_filled = p_quantity;
  END LOOP matching;
  IF p_price IS NULL AND p_filled < p_quantity THEN
    UPDATE book_order SET open = 0 WHERE id = p_id;
  END IF;
END $$;
CALL place('ACME', 'S', 10.5, 100, 1);
CALL place('ACME', 'S', 10.25, 50, 2);
CALL place('ACME', 'S', 10.25, 50, 3);
CALL place('ACME', 'B', 10.00, 200, 4);
CALL place('ACME', 'B', 10.50, 120, 3);
CALL place('ACME', 'S', NULL, 300, 5);
CALL place('ACME', 'X', 1, 10, 5);
CALL place('ACME', 'B', 1, 15, 5);
CALL place('ACME', 'B', 9999999, 10, 5);
CALL place('TOOLONG', 'B', 1, 10, 5);
CALL place('ACME', 'B', 1, NULL, 5);
CALL place('IBM', 'B', 0.00005, 10, 5);
SELECT * FROM book_order ORDER BY id;
SELECT * FROM trade ORDER BY no;
SELECT * FROM counter ORDER BY 1;
SELECT no, price, sum(quantity) OVER (ORDER BY no), avg(price) OVER (ORDER BY no ROWS 1 PRECEDING), price - lag(price, 1, price) OVER (ORDER BY no) AS change FROM trade ORDER BY no;
SELECT symbol, side, price, sum(open) AS depth FROM book_order WHERE open > 0 GROUP BY symbol, side, price ORDER BY 1, 2, 3;
