CREATE TABLE item (id integer PRIMARY KEY, name text, price numeric(8,2));
INSERT INTO item VALUES (1, 'pen', 1.20), (2, 'book', 12.50), (3, 'lamp', 30.00);
CREATE FUNCTION cheaper(limit_price numeric) RETURNS TABLE (item_id integer, label text) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT i.id, i.name FROM item i WHERE i.price < limit_price ORDER BY i.id;
  IF NOT FOUND THEN RAISE NOTICE 'none below %', limit_price; END IF;
END $$;
SELECT * FROM cheaper(20) ORDER BY item_id;
SELECT label FROM cheaper(100) AS c WHERE c.item_id > 1 ORDER BY 1;
SELECT count(*) FROM cheaper(1);
SELECT i.name, c.label FROM item i JOIN cheaper(20) c ON c.item_id = i.id ORDER BY i.id;
