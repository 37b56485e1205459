CREATE TABLE stock (item text PRIMARY KEY, qty integer NOT NULL, note text DEFAULT 'new');
CREATE TABLE delivery (item text, qty integer);
INSERT INTO stock VALUES ('apple', 5, 'old'), ('pear', 0, 'old'), ('plum', 3, 'old');
INSERT INTO delivery VALUES ('apple', 2), ('pear', 0), ('fig', 7), ('kiwi', 0);
MERGE INTO stock AS s USING delivery AS d ON s.item = d.item
WHEN MATCHED AND s.qty + d.qty = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET qty = s.qty + d.qty, note = 'more'
WHEN NOT MATCHED AND d.qty > 0 THEN INSERT (item, qty) VALUES (d.item, d.qty)
WHEN NOT MATCHED THEN DO NOTHING;
SELECT * FROM stock ORDER BY item;
MERGE INTO stock USING (VALUES ('apple', 1), ('lime', 9)) AS v (name, n) ON item = name
WHEN MATCHED THEN UPDATE SET qty = n
WHEN NOT MATCHED THEN INSERT VALUES (name, n, DEFAULT);
SELECT * FROM stock ORDER BY item;
MERGE INTO stock USING (SELECT 'lime' AS item) AS v ON stock.item = v.item WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT DEFAULT VALUES;
MERGE INTO stock s USING delivery d ON s.item = d.item AND d.qty > 0 WHEN MATCHED THEN DELETE;
SELECT * FROM stock ORDER BY item;
MERGE INTO stock s USING generate_series(1, 3) AS g ON s.qty = g WHEN MATCHED THEN UPDATE SET note = 'g' || g WHEN NOT MATCHED THEN INSERT (item, qty) VALUES ('gen' || g, g * 10);
SELECT * FROM stock ORDER BY item;
WITH c AS (SELECT item, sum(qty) AS n FROM delivery GROUP BY item) MERGE INTO stock s USING c ON c.item = s.item WHEN MATCHED THEN UPDATE SET (qty, note) = (c.n, 'sum') WHEN NOT MATCHED THEN INSERT (qty, item) VALUES (c.n + (SELECT count(*) FROM stock), c.item);
SELECT * FROM stock ORDER BY item;
