-- A WITH inside a subquery sees the columns of the queries around it.
CREATE TABLE dept (id integer PRIMARY KEY, name text, floor integer);
CREATE TABLE emp (id integer PRIMARY KEY, dept integer, name text, pay integer);
INSERT INTO dept VALUES (1, 'sales', 1), (2, 'labs', 2), (3, 'empty', 3);
INSERT INTO emp VALUES (1, 1, 'ann', 100), (2, 1, 'bob', 200), (3, 2, 'cyd', 300), (4, 2, 'dan', 50), (5, NULL, 'eve', 70);
SELECT d.name, (WITH e AS (SELECT * FROM emp WHERE emp.dept = d.id) SELECT count(*) FROM e) FROM dept d ORDER BY d.id;
SELECT d.name, (WITH e AS (SELECT pay * d.floor AS p FROM emp WHERE dept = d.id) SELECT max(p) - min(p) FROM e) AS spread FROM dept d ORDER BY d.id;
-- several references, a chain, a reference deeper inside
SELECT d.name, (WITH e AS (SELECT pay FROM emp WHERE dept = d.id) SELECT sum(a.pay + b.pay) FROM e a, e b) FROM dept d ORDER BY d.id;
SELECT d.name, (WITH e AS (SELECT pay FROM emp WHERE dept = d.id), f AS (SELECT pay + d.floor AS q FROM e) SELECT sum(q) FROM f) FROM dept d ORDER BY d.id;
SELECT d.name, (WITH e AS (SELECT pay FROM emp WHERE dept = d.id) SELECT sum(pay) FROM (SELECT * FROM e WHERE pay > 60) s) FROM dept d ORDER BY d.id;
SELECT d.name, (WITH e AS (SELECT pay FROM emp WHERE dept = d.id) SELECT count(*) FROM emp x WHERE EXISTS (SELECT 1 FROM e WHERE e.pay > x.pay)) FROM dept d ORDER BY d.id;
SELECT d.name FROM dept d WHERE EXISTS (WITH e AS (SELECT pay FROM emp WHERE dept = d.id) SELECT 1 FROM e WHERE pay > 250) ORDER BY 1;
SELECT d.name FROM dept d WHERE d.floor IN (WITH e AS (SELECT count(*) AS n FROM emp WHERE dept = d.id) SELECT n FROM e) ORDER BY 1;
SELECT d.name, x.name FROM dept d, LATERAL (WITH e AS (SELECT name FROM emp WHERE dept = d.id) SELECT name FROM e) x ORDER BY 1, 2;
SELECT d.name, x.n FROM dept d LEFT JOIN LATERAL (WITH e(n) AS MATERIALIZED (SELECT name FROM emp WHERE dept = d.id) SELECT n FROM e) x ON true ORDER BY 1, 2;
-- one that reads nothing from around stays one
SELECT d.name, (WITH e AS (SELECT avg(pay) AS a FROM emp) SELECT count(*) FROM emp, e WHERE emp.pay > e.a AND emp.dept = d.id) FROM dept d ORDER BY d.id;
-- beside one of the outer statement
WITH big AS (SELECT * FROM emp WHERE pay >= 100) SELECT d.name, (WITH e AS (SELECT pay FROM big WHERE dept = d.id) SELECT sum(pay) FROM e) FROM dept d ORDER BY d.id;
-- VALUES, set operations, column names
SELECT d.name, (WITH v(a) AS (VALUES (d.floor), (d.floor * 10)) SELECT sum(a) FROM v) FROM dept d ORDER BY d.id;
SELECT d.name, (WITH v AS (SELECT d.floor AS a UNION ALL SELECT pay FROM emp WHERE dept = d.id) SELECT sum(a) FROM v) FROM dept d ORDER BY d.id;
-- names
SELECT d.name, (WITH e AS (SELECT nix FROM emp WHERE dept = d.id) SELECT count(*) FROM e) FROM dept d;
SELECT d.name, (WITH e AS (SELECT 1 FROM emp WHERE dept = z.id) SELECT count(*) FROM e) FROM dept d;
SELECT d.name, (WITH e AS (SELECT d.id AS id) SELECT e.id FROM e) FROM dept d ORDER BY 1;
-- in changes
UPDATE dept SET floor = (WITH e AS (SELECT count(*)::integer AS n FROM emp WHERE emp.dept = dept.id) SELECT n FROM e) WHERE id < 4;
SELECT * FROM dept ORDER BY id;
DELETE FROM dept d WHERE NOT EXISTS (WITH e AS (SELECT 1 FROM emp WHERE dept = d.id) SELECT * FROM e);
SELECT count(*) FROM dept;
CREATE FUNCTION pays(want integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  SELECT sum((WITH e AS (SELECT pay FROM emp WHERE dept = d.id AND pay > want) SELECT count(*) FROM e)) INTO n FROM dept d;
  RETURN n;
END $$;
SELECT pays(60), pays(150);
