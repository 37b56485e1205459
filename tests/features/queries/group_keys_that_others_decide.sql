-- Keys of GROUP BY and DISTINCT that follow from other keys are not compared: groups are found by the others alone.
CREATE TABLE facts (id int PRIMARY KEY, c int, s smallint, b bigint, d date, f boolean, ch char(3), n int);
INSERT INTO facts SELECT i, 1 + i % 3, (i % 5 - 2)::smallint, (i % 4 - 2)::bigint, date '2020-01-01' + i % 3, i % 2 = 0, chr(97 + i % 3), CASE WHEN i % 7 = 0 THEN NULL ELSE i % 4 END FROM generate_series(1, 200) i;
ANALYZE facts;
SELECT DISTINCT c % 2 AS odd, c FROM facts ORDER BY 1, 2;
SELECT DISTINCT c, c % 2 FROM facts ORDER BY 1, 2;
SELECT c % 2 AS odd, c FROM facts GROUP BY 1, 2 ORDER BY 1, 2;
SELECT c % 2, c, count(*), sum(b) FROM facts GROUP BY 1, 2 HAVING count(*) > 66 ORDER BY 1, 2;
SELECT DISTINCT abs(s), s FROM facts ORDER BY 1, 2;
SELECT DISTINCT b * b, b, b + 1 FROM facts ORDER BY 1, 2;
SELECT DISTINCT n % 2, n FROM facts ORDER BY 1, 2;
SELECT DISTINCT n IS NULL, n FROM facts ORDER BY 1, 2;
SELECT DISTINCT d - date '2020-01-01', d FROM facts ORDER BY 1, 2;
SELECT DISTINCT NOT f, f FROM facts ORDER BY 1, 2;
SELECT DISTINCT ch = 'a', ch FROM facts ORDER BY 1, 2;
SELECT DISTINCT c % 2, s % 2, c, s FROM facts ORDER BY 1, 2, 3, 4;
SELECT DISTINCT 1, c % 2, c FROM facts ORDER BY 2, 3;
SELECT DISTINCT c IN (1, 2), c FROM facts ORDER BY 1, 2;
SELECT c % 2, c FROM (SELECT c FROM facts ORDER BY id LIMIT 50) q GROUP BY 1, 2 ORDER BY 1, 2;
SELECT DISTINCT x.c % 2, x.c, y.c % 2, y.c FROM facts x, facts y WHERE x.id < 10 AND y.id < 10 ORDER BY 1, 2, 3, 4;
SELECT c % 2, c FROM facts UNION SELECT s, s FROM facts ORDER BY 1, 2;
SELECT c % 2, c, count(*) FROM facts GROUP BY ROLLUP (1, 2) ORDER BY 1, 2, 3;
-- rows beyond the range that ANALYZE has seen
INSERT INTO facts (id, c, s, b, n) SELECT 1000 + i, 100 + i % 3, 32767 - i % 2, 9223372036854775807 - i % 3, -1000 - i % 2 FROM generate_series(1, 60) i;
INSERT INTO facts (id, c, s, b, n) SELECT 2000 + i, -2147483648 + i % 2, -32768 + i % 2, -9223372036854775808 + i % 2, 2147483647 FROM generate_series(1, 60) i;
SELECT DISTINCT c % 2, c FROM facts ORDER BY 1, 2;
SELECT DISTINCT s % 2, s FROM facts ORDER BY 1, 2;
SELECT DISTINCT b % 2, b FROM facts ORDER BY 1, 2;
SELECT n % 2, n, count(*) FROM facts GROUP BY 1, 2 ORDER BY 1, 2;
ANALYZE facts;
SELECT DISTINCT s % 2, s FROM facts ORDER BY 1, 2;
SELECT DISTINCT b % 2, b FROM facts ORDER BY 1, 2;
-- keys of the other side of a join
CREATE TABLE customers (c int PRIMARY KEY, name text, m int);
INSERT INTO customers VALUES (1, 'a', 0), (2, 'b', 1), (3, 'c', 0);
SELECT DISTINCT name, facts.c FROM facts JOIN customers ON facts.c = customers.c ORDER BY 1, 2;
SELECT m, customers.c, facts.c, count(*) FROM facts JOIN customers USING (c) GROUP BY 1, 2, 3 ORDER BY 1, 2;
-- functions of equal values that are not the same
CREATE TABLE equal_values (x numeric, y float8);
INSERT INTO equal_values VALUES (1.0, 0), (1.00, '-0'), (2, 1), (2.000, 1);
SELECT x::text FROM equal_values GROUP BY x, x::text ORDER BY 1;
SELECT DISTINCT y::text, y = 0 FROM equal_values ORDER BY 1;
SELECT count(*) FROM (SELECT DISTINCT scale(x), x FROM equal_values) q;
SELECT count(*) FROM (SELECT DISTINCT y::text, y FROM equal_values) q;
-- volatile keys are computed once for each row
CREATE SEQUENCE numbers;
SELECT count(*), min(k), max(k) FROM (SELECT nextval('numbers') AS k, c FROM facts WHERE id <= 200 GROUP BY 1, 2) q;
SELECT count(*) FROM (SELECT DISTINCT nextval('numbers'), c FROM facts WHERE id <= 200) q;
SELECT nextval('numbers');
-- an output's name in GROUP BY comes before columns of the queries around
CREATE TABLE outside (a int, b int);
INSERT INTO outside VALUES (1, 10), (2, 20), (3, 30);
SELECT a, (SELECT string_agg(q.s::text, ',' ORDER BY q.s) FROM (SELECT u.z % 2 AS a, sum(u.z) AS s FROM (VALUES (1), (2), (3)) u(z) GROUP BY a) q) FROM outside ORDER BY 1;
SELECT a AS b, count(*) FROM outside GROUP BY b ORDER BY 1;
SELECT (SELECT count(*) FROM (SELECT x.b % 20 AS a FROM outside x GROUP BY a) q) FROM outside ORDER BY 1;
