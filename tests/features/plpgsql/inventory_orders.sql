CREATE TABLE products (product_id integer PRIMARY KEY, name text NOT NULL, stock integer NOT NULL, price numeric(10,2) NOT NULL);
CREATE TABLE orders (order_id integer PRIMARY KEY, customer text, total numeric(12,2) DEFAULT 0);
CREATE TABLE order_items (order_id integer, line integer, product_id integer, quantity integer, amount numeric(12,2), PRIMARY KEY (order_id, line));
INSERT INTO products VALUES (1, 'bolt', 100, 0.25), (2, 'nut', 50, 0.10), (3, 'gear', 2, 19.99);
CREATE FUNCTION reduce_stock() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE left_over integer;
BEGIN
  UPDATE products SET stock = stock - NEW.quantity WHERE product_id = NEW.product_id RETURNING stock INTO left_over;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'product % does not exist', NEW.product_id USING ERRCODE = 'foreign_key_violation';
  END IF;
  IF left_over < 0 THEN
    RAISE EXCEPTION 'out of stock: product %', NEW.product_id;
  END IF;
  NEW.amount := (SELECT price * NEW.quantity FROM products WHERE product_id = NEW.product_id);
  RETURN NEW;
END $$;
CREATE TRIGGER order_items_stock BEFORE INSERT ON order_items FOR EACH ROW EXECUTE FUNCTION reduce_stock();
CREATE FUNCTION add_to_total() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE orders SET total = total + NEW.amount WHERE order_id = NEW.order_id;
  RETURN NULL;
END $$;
CREATE TRIGGER order_items_total AFTER INSERT ON order_items FOR EACH ROW EXECUTE FUNCTION add_to_total();
CREATE FUNCTION place_order(p_id integer, p_customer text, p_products integer[], p_quantities integer[]) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE t numeric;
BEGIN
  INSERT INTO orders (order_id, customer) VALUES (p_id, p_customer);
  FOR i IN 1 .. array_length(p_products, 1) LOOP
    INSERT INTO order_items (order_id, line, product_id, quantity) VALUES (p_id, i, p_products[i], p_quantities[i]);
  END LOOP;
  SELECT total INTO t FROM orders WHERE order_id = p_id;
  RETURN t;
END $$;
SELECT place_order(1, 'ann', ARRAY[1, 2], ARRAY[10, 5]);
SELECT place_order(2, 'bob', ARRAY[3, 3], ARRAY[1, 2]);
SELECT place_order(3, 'cat', ARRAY[9], ARRAY[1]);
SELECT * FROM orders ORDER BY order_id;
SELECT * FROM order_items ORDER BY order_id, line;
SELECT product_id, stock FROM products ORDER BY product_id;
