CREATE TABLE sales (id serial PRIMARY KEY, item text, qty integer);
CREATE TABLE totals (item text PRIMARY KEY, qty integer);
WITH new AS (INSERT INTO sales (item, qty) VALUES ('a', 1), ('b', 2), ('a', 3) RETURNING item, qty) INSERT INTO totals SELECT item, sum(qty) FROM new GROUP BY item;
SELECT * FROM totals ORDER BY item;
WITH new AS (INSERT INTO sales (item, qty) VALUES ('a', 10), ('c', 5) RETURNING item, qty) INSERT INTO totals SELECT item, sum(qty) FROM new GROUP BY item ON CONFLICT (item) DO UPDATE SET qty = totals.qty + excluded.qty RETURNING *;
WITH new AS (INSERT INTO sales (item, qty) VALUES ('c', 7) RETURNING item, qty) MERGE INTO totals AS t USING new ON t.item = new.item WHEN MATCHED THEN UPDATE SET qty = t.qty + new.qty;
WITH gone AS (DELETE FROM sales WHERE item = 'a' RETURNING qty) SELECT count(*), sum(qty), min(qty), max(qty), (SELECT count(*) FROM sales) AS before FROM gone;
WITH gone AS (DELETE FROM sales RETURNING item, qty) SELECT item, qty, rank() OVER (ORDER BY qty DESC) FROM gone ORDER BY qty DESC;
SELECT * FROM totals ORDER BY item;
