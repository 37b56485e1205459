-- A set-returning function beside joins: the joins are made by their conditions, not row by row with everything.
CREATE TABLE schemas (id integer PRIMARY KEY, name text);
CREATE TABLE relations (id integer PRIMARY KEY, schema integer, name text);
CREATE TABLE keys (id integer PRIMARY KEY, relation integer, columns integer[]);
INSERT INTO schemas SELECT g, 's' || g FROM generate_series(1, 300) g;
INSERT INTO relations SELECT g, g % 300 + 1, 'r' || g FROM generate_series(1, 3000) g;
INSERT INTO keys SELECT g, g, ARRAY[g, g + 1] FROM generate_series(1, 3000) g;
SELECT s.name, r.name, o.name, c.n, c.x
FROM schemas s JOIN relations r ON r.schema = s.id JOIN keys k ON k.relation = r.id JOIN relations o ON o.id = k.id,
  LATERAL unnest(k.columns) WITH ORDINALITY AS c(x, n)
WHERE s.name = 's8' AND r.name = 'r307' ORDER BY c.n;
SELECT s.name, (SELECT max(x) FROM unnest(k.columns) x WHERE x > r.id)
FROM schemas s, relations r, keys k
WHERE r.schema = s.id AND k.relation = r.id AND s.name = 's8' AND r.name = 'r307';
SELECT count(*), sum(c.x)
FROM schemas s, relations r, keys k LEFT JOIN LATERAL (SELECT x FROM unnest(k.columns) x WHERE x % 2 = 0) c ON true
WHERE r.schema = s.id AND k.relation = r.id AND s.id < 4;
DROP TABLE keys, relations, schemas;
