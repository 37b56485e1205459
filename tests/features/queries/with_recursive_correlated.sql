CREATE TABLE nodes (id integer PRIMARY KEY, parent integer, name text NOT NULL);
INSERT INTO nodes VALUES (1, NULL, 'root'), (2, 1, 'a'), (3, 1, 'b'), (4, 2, 'aa'), (5, 2, 'ab'), (6, 4, 'aaa'), (7, NULL, 'other');
CREATE TABLE depths (node integer PRIMARY KEY, depth integer);
INSERT INTO depths SELECT id, id % 3 FROM nodes;
-- a scalar subquery
SELECT n.id, (WITH RECURSIVE up (id, parent) AS (SELECT n.id, n.parent UNION ALL SELECT m.id, m.parent FROM nodes m JOIN up ON m.id = up.parent) SELECT count(*) FROM up) AS depth FROM nodes n ORDER BY n.id;
SELECT n.id, (WITH RECURSIVE below AS (SELECT n.id UNION SELECT m.id FROM nodes m JOIN below b ON m.parent = b.id) SELECT string_agg(id::text, ',' ORDER BY id) FROM below) AS tree FROM nodes n ORDER BY n.id;
-- the recursive term alone reads around it
SELECT n.id, (WITH RECURSIVE c (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c WHERE k < n.id) SELECT sum(k) FROM c) AS s FROM nodes n ORDER BY n.id;
-- EXISTS, IN, ANY
SELECT n.id FROM nodes n WHERE EXISTS (WITH RECURSIVE up AS (SELECT n.id AS id, n.parent AS parent UNION ALL SELECT m.id, m.parent FROM nodes m JOIN up ON m.id = up.parent) SELECT 1 FROM up WHERE up.id = 2) ORDER BY n.id;
SELECT n.id FROM nodes n WHERE 6 IN (WITH RECURSIVE below AS (SELECT n.id UNION SELECT m.id FROM nodes m JOIN below b ON m.parent = b.id) SELECT id FROM below) ORDER BY n.id;
SELECT n.id FROM nodes n WHERE NOT EXISTS (WITH RECURSIVE below AS (SELECT m.id FROM nodes m WHERE m.parent = n.id UNION SELECT m.id FROM nodes m JOIN below b ON m.parent = b.id) SELECT 1 FROM below) ORDER BY n.id;
-- LATERAL
SELECT n.id, t.path FROM nodes n, LATERAL (WITH RECURSIVE up (id, parent, path) AS (SELECT n.id, n.parent, n.name UNION ALL SELECT m.id, m.parent, m.name || '/' || up.path FROM nodes m JOIN up ON m.id = up.parent) SELECT path FROM up WHERE parent IS NULL) t ORDER BY n.id;
SELECT n.id, t.k FROM nodes n LEFT JOIN LATERAL (WITH RECURSIVE c (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c WHERE k < n.parent) SELECT k FROM c WHERE k > 1) t ON true ORDER BY n.id, t.k;
SELECT n.id, t.k FROM nodes n LEFT JOIN LATERAL (WITH RECURSIVE c (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c WHERE k < n.parent) SELECT k FROM c) t ON t.k = n.id ORDER BY n.id, t.k;
-- in a tree of outer joins
SELECT n.id, m.id, t.k FROM nodes n FULL JOIN depths d ON d.node = n.id LEFT JOIN nodes m ON m.parent = n.id LEFT JOIN LATERAL (WITH RECURSIVE c (k) AS (SELECT d.depth UNION ALL SELECT k - 1 FROM c WHERE k > 0) SELECT k FROM c) t ON true ORDER BY 1, 2, 3;
-- read twice, under other names
SELECT n.id, (WITH RECURSIVE below AS (SELECT n.id UNION SELECT m.id FROM nodes m JOIN below b ON m.parent = b.id) SELECT count(*) FROM below a JOIN below b ON a.id <= b.id) FROM nodes n ORDER BY n.id;
-- two levels up
SELECT n.id, (SELECT max(d.depth) FROM depths d WHERE d.node IN (WITH RECURSIVE below AS (SELECT n.id UNION SELECT m.id FROM nodes m JOIN below b ON m.parent = b.id) SELECT id FROM below)) FROM nodes n ORDER BY n.id;
SELECT n.id, (SELECT sum((WITH RECURSIVE c (k) AS (SELECT d.depth UNION ALL SELECT k + 1 FROM c WHERE k < n.id) SELECT sum(k) FROM c)) FROM depths d) FROM nodes n ORDER BY n.id;
-- grouped columns
SELECT n.parent, count(*), (WITH RECURSIVE c (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c WHERE k < n.parent) SELECT string_agg(k::text, '+' ORDER BY k) FROM c) FROM nodes n GROUP BY n.parent ORDER BY n.parent;
SELECT n.parent, (WITH RECURSIVE c (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c WHERE k < n.id) SELECT sum(k) FROM c) FROM nodes n GROUP BY n.parent ORDER BY n.parent;
-- a query of WITH that reads a recursive one
SELECT n.id, (WITH RECURSIVE c (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c WHERE k < n.id), odd AS (SELECT k FROM c WHERE k % 2 = 1) SELECT sum(k) FROM odd) FROM nodes n ORDER BY n.id;
-- with LIMIT
SELECT n.id, (WITH RECURSIVE c (k) AS (SELECT n.id UNION ALL SELECT k + 1 FROM c) SELECT k FROM c OFFSET 2 LIMIT 1) FROM nodes n ORDER BY n.id;
-- in changes
UPDATE depths d SET depth = (WITH RECURSIVE up AS (SELECT n.id, n.parent FROM nodes n WHERE n.id = d.node UNION ALL SELECT m.id, m.parent FROM nodes m JOIN up ON m.id = up.parent) SELECT count(*) FROM up);
SELECT * FROM depths ORDER BY node;
DELETE FROM depths d WHERE (WITH RECURSIVE c (k) AS (SELECT d.depth UNION ALL SELECT k - 1 FROM c WHERE k > 1) SELECT count(*) FROM c) >= 3;
SELECT * FROM depths ORDER BY node;
-- in PL/pgSQL, and in a view
CREATE FUNCTION chain(of integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; t text := '';
BEGIN
  FOR r IN SELECT n.id, (WITH RECURSIVE c (k) AS (SELECT n.id UNION ALL SELECT k + 1 FROM c WHERE k < of) SELECT count(*) FROM c) AS many FROM nodes n ORDER BY n.id LOOP
    t := t || r.id || ':' || r.many || ' ';
  END LOOP;
  RETURN t;
END $$;
SELECT chain(4);
CREATE VIEW rooted AS SELECT n.id, (WITH RECURSIVE up AS (SELECT n.id AS id, n.parent AS parent UNION ALL SELECT m.id, m.parent FROM nodes m JOIN up ON m.id = up.parent) SELECT min(up.id) FROM up) AS root FROM nodes n;
SELECT * FROM rooted WHERE root = 1 ORDER BY id;
