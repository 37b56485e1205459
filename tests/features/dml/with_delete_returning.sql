CREATE TABLE orders (id integer PRIMARY KEY, customer text NOT NULL, total numeric(10,2), done boolean);
CREATE TABLE archive (id integer PRIMARY KEY, customer text, total numeric(10,2), note text DEFAULT 'moved');
INSERT INTO orders VALUES (1, 'ann', 10.50, true), (2, 'bob', 20, false), (3, 'ann', 7.25, true), (4, 'cid', NULL, true);
WITH moved AS (DELETE FROM orders WHERE done RETURNING id, customer, total)
INSERT INTO archive (id, customer, total) SELECT * FROM moved;
SELECT * FROM orders ORDER BY id;
SELECT * FROM archive ORDER BY id;
WITH moved AS (DELETE FROM archive WHERE total IS NULL RETURNING *) SELECT id, customer, note FROM moved;
WITH moved AS (DELETE FROM archive RETURNING customer, total) SELECT customer, sum(total), count(*) FROM moved GROUP BY customer ORDER BY customer;
SELECT count(*) FROM archive;
WITH moved (a, b) AS (DELETE FROM orders RETURNING id, customer) SELECT b, a FROM moved;
WITH gone AS (DELETE FROM orders RETURNING 1) SELECT count(*) FROM gone;
