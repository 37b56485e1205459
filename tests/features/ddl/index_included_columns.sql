-- INCLUDE (columns) of indexes and keys.
CREATE TABLE stock (id int, sku text, place text, amount int, PRIMARY KEY (id) INCLUDE (amount), UNIQUE (sku) INCLUDE (place));
CREATE INDEX ON stock (place) INCLUDE (amount, sku);
CREATE UNIQUE INDEX stock_two ON stock (place, amount) INCLUDE (sku) WHERE amount > 0;
CREATE INDEX bad ON stock (place) INCLUDE (nothing);
CREATE INDEX bad ON stock (place) INCLUDE (lower(sku));
CREATE INDEX bad ON stock USING hash (place) INCLUDE (sku);
CREATE TABLE bad (a int, UNIQUE (a) INCLUDE (b));
INSERT INTO stock VALUES (1, 'a', 'x', 1), (2, 'b', 'x', 2);
INSERT INTO stock VALUES (1, 'c', 'y', 1);
INSERT INTO stock VALUES (3, 'a', 'z', 9);
INSERT INTO stock VALUES (3, 'c', 'x', 2);
INSERT INTO stock VALUES (3, 'c', 'x', 0), (4, 'd', 'x', 0);
INSERT INTO stock VALUES (1, 'e', 'y', 5) ON CONFLICT (id) DO UPDATE SET amount = stock.amount + 10;
SELECT * FROM stock ORDER BY id;
SELECT indexname FROM pg_indexes WHERE tablename = 'stock' ORDER BY indexname;
ALTER TABLE stock DROP CONSTRAINT stock_sku_place_key;
INSERT INTO stock VALUES (5, 'a', 'w', 3);
SELECT id FROM stock WHERE place = 'x' ORDER BY id;
