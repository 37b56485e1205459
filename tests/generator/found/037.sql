-- symptom: the plan checker: keys of a DISTINCT that nobody reads; partners of products of domains
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW v AS SELECT p.k, q.x, p.n, q.s, q.b FROM p LEFT JOIN q ON p.x = q.k;
INSERT INTO p VALUES (1, 1, 1.50, 'a', true), (2, 2, NULL, 'b', false), (3, NULL, 0.00, NULL, NULL);
INSERT INTO q VALUES (1, 1, 1.50, 'a', true), (1, 2, NULL, 'b', false), (2, NULL, 0.00, NULL, NULL);
INSERT INTO e VALUES (1, 1, 1.50, 'a', true), (NULL, 2, NULL, 'b', false);
SELECT 'a'::text AS c0 FROM p t1 GROUP BY t1.n, t1.k, (NOT t1.b);
SELECT true AS c0 FROM p t3 GROUP BY t3.k;
SELECT 1 AS c0 FROM p t1 JOIN v t2 ON true WHERE ((t2.s, 1) NOT IN (SELECT 'a'::text AS c0, (SELECT sum(CASE WHEN t7.k IS NOT NULL THEN 1 ELSE t1.k END) FILTER (WHERE t7.x IS NOT NULL AND (t3.s IS NOT DISTINCT FROM t3.s)) AS c0 FROM e t7) AS c1 FROM p t3));
SELECT 1 AS c0 FROM (SELECT bool_or(t2.b) AS c0 FROM p t2 GROUP BY t2.k) t1 LEFT JOIN LATERAL (SELECT (SELECT count(CASE WHEN t17.c0 IS NOT NULL THEN t12.s END) AS c0 FROM (SELECT 1 AS c0 FROM q t13 JOIN v t15 USING (k) WHERE t1.c0 GROUP BY t13.s, upper(t15.s)) t17) AS c0 FROM q t12 GROUP BY upper(t12.s), (t12.k % 3), t12.k, t12.s) t11 ON true WHERE (t11.c0 NOT IN (1, 2));
