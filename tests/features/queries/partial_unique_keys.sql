-- a partial unique index, or one on an expression, makes no column unique
CREATE TABLE part (id int NOT NULL, live bool NOT NULL, code int NOT NULL);
CREATE UNIQUE INDEX part_live ON part (id) WHERE live;
CREATE UNIQUE INDEX part_code ON part (abs(code));
INSERT INTO part VALUES (1, true, 1), (1, false, 2), (1, false, 3), (2, true, 4), (2, false, 5), (3, false, 6), (3, false, 7);
CREATE TABLE whole (id int PRIMARY KEY, part int);
INSERT INTO whole SELECT i, i % 4 FROM generate_series(1, 20) i;
SELECT count(*) FROM whole w LEFT JOIN part p ON p.id = w.part;
SELECT count(*) FROM whole w LEFT JOIN part p ON p.id = w.part AND p.live;
SELECT count(*) FROM whole w LEFT JOIN (SELECT * FROM part WHERE live) p ON p.id = w.part;
SELECT count(*) FROM whole w LEFT JOIN part p ON abs(p.code) = w.part;
SELECT count(*) FROM whole w LEFT JOIN part p ON p.code = w.part;
SELECT DISTINCT id FROM part ORDER BY id;
SELECT DISTINCT id FROM part WHERE live ORDER BY id;
SELECT DISTINCT abs(code) % 2 FROM part ORDER BY 1;
SELECT DISTINCT ON (id) id, code FROM part ORDER BY id, code;
SELECT count(*) FROM whole w JOIN part p ON p.id = w.part;
SELECT p.id, count(*), sum(w.id) FROM whole w JOIN part p ON p.id = w.part GROUP BY p.id ORDER BY 1;
SELECT id, count(DISTINCT code) FROM part GROUP BY id ORDER BY id;
