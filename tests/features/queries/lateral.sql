CREATE TABLE c (id integer PRIMARY KEY, name text);
CREATE TABLE o (id integer PRIMARY KEY, c integer, amount integer);
INSERT INTO c VALUES (1, 'ann'), (2, 'bob'), (3, 'cid');
INSERT INTO o VALUES (1, 1, 5), (2, 1, 9), (3, 1, 7), (4, 2, 3);
SELECT c.name, l.amount FROM c, LATERAL (SELECT amount FROM o WHERE o.c = c.id ORDER BY amount DESC LIMIT 2) AS l ORDER BY 1, 2;
SELECT c.name, l.n, l.total FROM c LEFT JOIN LATERAL (SELECT count(*) AS n, sum(amount) AS total FROM o WHERE o.c = c.id) AS l ON true ORDER BY 1;
SELECT c.name, g FROM c CROSS JOIN LATERAL generate_series(1, c.id) AS g ORDER BY 1, 2;
SELECT c.name, x.a FROM c JOIN LATERAL (VALUES (c.id * 10), (c.id * 100)) AS x (a) ON x.a > 20 ORDER BY 1, 2;
-- state only: PostgreSQL names the table that is there
SELECT name FROM c, (SELECT amount FROM o WHERE o.c = c.id) AS l;
SELECT c.name, l.amount FROM c LEFT JOIN LATERAL (SELECT amount FROM o WHERE o.c = c.id AND amount > 6) AS l ON l.amount < 9 ORDER BY 1, 2;
