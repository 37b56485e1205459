-- symptom: wrong: scalar subquery with LIMIT 1 OFFSET 1 over a derived table of an outer column gives the first row
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer NOT NULL, x integer, n numeric(8,2), s text, b boolean);
INSERT INTO p VALUES (1, 4, 3.00, 'B', false);
INSERT INTO r VALUES (0, 0, 0.00, 'ab', true);
INSERT INTO q (k, x, n, s, b) SELECT (c0)::integer, (c1)::integer, c2, c3, c4 FROM (SELECT count(DISTINCT 'a'::text) AS c0, min(1) AS c1, sum(1.5) AS c2, 'a'::text AS c3, bool_and(t1.b) AS c4 FROM p t1) z ORDER BY 1, 2, 3, 4, 5 LIMIT 4;
SELECT 1 AS c0 FROM r t1 JOIN q t2 ON true WHERE (1 = (SELECT (SELECT c0 FROM (SELECT t2.x AS c0 FROM r t3) t4 ORDER BY 1 LIMIT 1 OFFSET 1) AS c0));
