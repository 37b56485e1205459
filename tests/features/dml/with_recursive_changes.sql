CREATE TABLE tree (id integer PRIMARY KEY, parent integer, name text);
INSERT INTO tree VALUES (1, NULL, 'root'), (2, 1, 'a'), (3, 1, 'b'), (4, 2, 'a1'), (5, 4, 'a11'), (6, 3, 'b1');
WITH RECURSIVE sub (id, depth) AS (SELECT id, 0 FROM tree WHERE name = 'a' UNION ALL SELECT t.id, s.depth + 1 FROM tree AS t JOIN sub AS s ON t.parent = s.id),
gone AS (DELETE FROM tree WHERE id IN (SELECT id FROM sub) RETURNING id, name)
SELECT g.name, s.depth FROM gone AS g JOIN sub AS s USING (id) ORDER BY s.depth;
SELECT * FROM tree ORDER BY id;
WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 13), added AS (INSERT INTO tree SELECT i, 1, 'n' || i FROM n RETURNING id) SELECT array_agg(id ORDER BY id) FROM added;
WITH RECURSIVE up AS (SELECT id, parent FROM tree WHERE id = 6 UNION SELECT t.id, t.parent FROM tree AS t JOIN up ON t.id = up.parent) UPDATE tree SET name = name || '*' FROM up WHERE up.id = tree.id RETURNING tree.id, tree.name;
SELECT count(*) FROM tree WHERE name LIKE '%*';
