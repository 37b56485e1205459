-- joins, DISTINCT and sorts that change no answer, beside those that look alike and do
CREATE TABLE parent (id int PRIMARY KEY, code int UNIQUE, name text NOT NULL);
CREATE TABLE child (id int PRIMARY KEY, parent int, n int NOT NULL, amount numeric, f double precision);
CREATE TABLE pair (a int, b int, note text, PRIMARY KEY (a, b));
INSERT INTO parent SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE i * 10 END, 'p' || i FROM generate_series(1, 6) i;
INSERT INTO child SELECT i, CASE WHEN i % 4 = 0 THEN NULL ELSE i % 8 END, i % 3, i * 1.5, i / 3.0 FROM generate_series(1, 20) i;
INSERT INTO pair SELECT a, b, 'n' || a || b FROM generate_series(1, 4) a, generate_series(1, 3) b;

-- one partner at most, nobody reads it
SELECT count(*), sum(c.n) FROM child c LEFT JOIN parent p ON p.id = c.parent;
SELECT c.id FROM child c LEFT JOIN parent p ON p.id = c.parent AND p.name LIKE 'p%' WHERE c.n = 1 ORDER BY 1;
SELECT count(*) FROM child c LEFT JOIN pair x ON x.a = c.parent AND x.b = c.n;
SELECT count(*) FROM child c LEFT JOIN pair x ON x.a = c.parent AND x.b = 2;
SELECT count(*) FROM child c LEFT JOIN (SELECT a, max(note) AS m FROM pair GROUP BY a) x ON x.a = c.parent;
SELECT count(*) FROM child c LEFT JOIN (SELECT DISTINCT a FROM pair) x ON x.a = c.parent;
SELECT count(*) FROM child c LEFT JOIN (SELECT a FROM pair UNION SELECT b FROM pair) x ON x.a = c.parent;
SELECT count(*) FROM child c LEFT JOIN (SELECT count(*) AS n FROM pair) x ON true;
SELECT count(*) FROM child c LEFT JOIN parent p ON p.id = c.parent LEFT JOIN parent q ON q.id = p.code;
SELECT c.id, q.name FROM child c LEFT JOIN parent p ON p.id = c.parent LEFT JOIN parent q ON q.id = c.n ORDER BY 1;
CREATE VIEW wide AS SELECT c.id, c.n, p.name, upper(p.name) AS u, x.note FROM child c LEFT JOIN parent p ON p.id = c.parent LEFT JOIN pair x ON x.a = c.n AND x.b = p.id;
SELECT id, n FROM wide WHERE n > 1 ORDER BY id;
SELECT count(*) FROM wide;
SELECT n, count(u) FROM wide GROUP BY n ORDER BY n;
SELECT count(*) FROM wide a JOIN wide b ON a.id = b.n;
-- several partners, or somebody reads it
SELECT count(*) FROM child c LEFT JOIN pair x ON x.a = c.parent;
SELECT count(*) FROM child c LEFT JOIN parent p ON p.id > c.parent;
SELECT count(*) FROM child c LEFT JOIN parent p ON p.code = c.parent * 10;
SELECT count(*) FROM child c LEFT JOIN parent p ON p.code IS NOT DISTINCT FROM c.parent;
SELECT count(p.id) FROM child c LEFT JOIN parent p ON p.id = c.parent;
SELECT count(*) FROM child c LEFT JOIN parent p ON p.id = c.parent WHERE p.name IS NULL;
SELECT count(*) FROM child c JOIN parent p ON p.id = c.parent;
SELECT count(*) FROM child c LEFT JOIN pair x ON x.a = c.parent AND x.b = x.a + c.n;
SELECT count(*) FROM child c LEFT JOIN pair x ON x.a = c.parent AND x.b IN (1, 2);
SELECT count(*) FROM child c FULL JOIN parent p ON p.id = c.parent;
SELECT count(*) FROM child c RIGHT JOIN parent p ON p.id = c.parent;
-- rows that a join with a condition within one side multiplies are not unique
SELECT count(*) FROM child big JOIN (SELECT c.id FROM child c LEFT JOIN pair x ON x.a = c.n AND x.b = x.a + c.n - 1 + 0 * x.b) s ON big.id = s.id;
SELECT s.id, count(*) FROM child big JOIN (SELECT p.id FROM parent p JOIN child k ON k.id = k.n + 3 * p.id) s ON big.n = s.id GROUP BY s.id ORDER BY 1;
SELECT DISTINCT p.id FROM parent p JOIN child k ON k.id = k.n + 3 * p.id ORDER BY 1;
SELECT DISTINCT p.id FROM parent p LEFT JOIN child k ON k.id = k.n + 3 * p.id ORDER BY 1;

-- DISTINCT of rows that differ, and of others
SELECT DISTINCT id, n FROM child WHERE n = 2 ORDER BY 1;
SELECT DISTINCT n FROM child ORDER BY 1;
SELECT DISTINCT code FROM parent ORDER BY 1;
SELECT DISTINCT c.id, p.name FROM child c LEFT JOIN parent p ON p.id = c.parent ORDER BY 1;
SELECT DISTINCT p.id FROM child c JOIN parent p ON p.id = c.parent ORDER BY 1;
SELECT DISTINCT n, c FROM (SELECT n, count(*) AS c FROM child GROUP BY n) s ORDER BY 1;
SELECT DISTINCT * FROM (SELECT a FROM pair UNION SELECT b FROM pair) s ORDER BY 1;
SELECT DISTINCT * FROM (SELECT a FROM pair UNION ALL SELECT b FROM pair) s ORDER BY 1;
SELECT DISTINCT a FROM (SELECT a, b FROM pair EXCEPT SELECT 1, 1) s ORDER BY 1;
SELECT DISTINCT ON (id) id, n FROM child ORDER BY id, n DESC;
SELECT DISTINCT ON (n) n, id FROM child ORDER BY n, id DESC;
SELECT n, count(DISTINCT id) FROM child GROUP BY n ORDER BY n;
SELECT DISTINCT id, row_number() OVER (ORDER BY id) FROM child ORDER BY 1 LIMIT 3;
SELECT count(*) FROM (SELECT DISTINCT id, f FROM child) s JOIN (SELECT DISTINCT a FROM pair) t ON t.a = s.id;
SELECT id FROM child WHERE id IN (SELECT DISTINCT id FROM parent) ORDER BY 1;

-- sorts whose order nobody sees, and others
SELECT count(*), sum(n), max(amount) FROM (SELECT * FROM child ORDER BY n, id) s;
SELECT n, count(*) FROM (SELECT * FROM child ORDER BY amount DESC) s GROUP BY n ORDER BY n;
SELECT string_agg(id::text, ',') FROM (SELECT id FROM child ORDER BY n, id DESC) s;
SELECT array_agg(id) FROM (SELECT id FROM child WHERE n = 1 ORDER BY id DESC) s;
SELECT sum(f), avg(f) FROM (SELECT f FROM child ORDER BY f DESC) s;
SELECT sum(n) FROM (SELECT n FROM child ORDER BY n DESC, id LIMIT 5) s;
SELECT sum(n) FROM (SELECT n FROM child ORDER BY n, id OFFSET 15) s;
SELECT n, id FROM (SELECT n, id FROM child ORDER BY id DESC) s ORDER BY n, id;
SELECT count(*) FROM ((SELECT n FROM child ORDER BY n) UNION (SELECT id FROM parent ORDER BY id DESC)) s;
(SELECT id FROM child ORDER BY id DESC LIMIT 2) UNION (SELECT id FROM parent ORDER BY id LIMIT 2) ORDER BY 1;
SELECT row_number() OVER (), id FROM (SELECT id FROM parent ORDER BY id DESC) s ORDER BY 1;
SELECT id FROM child WHERE n IN (SELECT id FROM parent ORDER BY name) ORDER BY 1;
SELECT id FROM child c WHERE EXISTS (SELECT 1 FROM parent p WHERE p.id = c.n ORDER BY p.name) ORDER BY 1;
SELECT (SELECT name FROM parent p WHERE p.id <= c.n ORDER BY id DESC LIMIT 1) FROM child c WHERE c.id < 4 ORDER BY c.id;
SELECT string_agg(x::text, ',') FROM (SELECT DISTINCT x FROM (SELECT n AS x FROM child ORDER BY id) s ORDER BY x) t;
INSERT INTO pair SELECT 9, n, 'new' FROM (SELECT DISTINCT n FROM child ORDER BY n) s RETURNING *;
