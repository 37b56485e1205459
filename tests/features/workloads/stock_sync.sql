CREATE TABLE stock (sku text PRIMARY KEY, qty integer NOT NULL CHECK (qty >= 0), updated integer DEFAULT 0);
CREATE TABLE feed (batch integer, sku text, qty integer);
CREATE TABLE rejected (batch integer, sku text, why text);
INSERT INTO stock VALUES ('a', 5), ('b', 0), ('c', 7);
INSERT INTO feed VALUES (1, 'a', 3), (1, 'd', 4), (1, 'b', -2), (2, 'c', -7), (2, 'd', -1), (2, 'e', -1);
CREATE FUNCTION sync(b integer) RETURNS TABLE (changed integer, refused integer) LANGUAGE plpgsql AS $$ BEGIN
  WITH bad AS (DELETE FROM feed AS f WHERE f.batch = b AND f.qty < 0 AND coalesce((SELECT s.qty FROM stock AS s WHERE s.sku = f.sku), 0) + f.qty < 0 RETURNING f.sku) INSERT INTO rejected SELECT b, bad.sku, 'would be negative' FROM bad;
  GET DIAGNOSTICS refused = ROW_COUNT;
  MERGE INTO stock AS s USING (SELECT f.sku, sum(f.qty) AS q FROM feed AS f WHERE f.batch = b GROUP BY f.sku) AS d ON s.sku = d.sku
  WHEN MATCHED AND s.qty + d.q = 0 THEN DELETE
  WHEN MATCHED THEN UPDATE SET qty = s.qty + d.q, updated = b
  WHEN NOT MATCHED THEN INSERT VALUES (d.sku, d.q, b);
  GET DIAGNOSTICS changed = ROW_COUNT; DELETE FROM feed AS f WHERE f.batch = b; RETURN NEXT; END $$;
SELECT * FROM sync(1);
SELECT * FROM stock ORDER BY sku;
SELECT * FROM sync(2);
SELECT * FROM stock ORDER BY sku;
SELECT * FROM rejected ORDER BY batch, sku;
SELECT count(*) FROM feed;
CREATE TABLE snapshot AS SELECT sku, qty FROM stock WHERE qty > 0;
SELECT * FROM snapshot ORDER BY sku;
