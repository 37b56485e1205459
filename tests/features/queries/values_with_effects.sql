-- Each value of VALUES is computed once, also where nobody reads it.
CREATE SEQUENCE s;
CREATE TABLE t (k integer, x bigint);
SELECT a FROM (VALUES (1, nextval('s')), (2, nextval('s'))) v (a, b);
SELECT nextval('s');
SELECT b, b FROM (VALUES (1, nextval('s')), (2, nextval('s'))) v (a, b) WHERE b > 0;
SELECT count(*) FROM (VALUES (1, nextval('s')), (2, nextval('s'))) v (a, b) WHERE b > 0 AND b < 1000;
SELECT b, a + b FROM (VALUES (nextval('s'), nextval('s')), (nextval('s'), nextval('s'))) v (a, b) ORDER BY a;
SELECT b FROM (VALUES (nextval('s'), nextval('s')), (nextval('s'), nextval('s'))) v (a, b) ORDER BY b;
SELECT a, a FROM (VALUES (nextval('s'))) v (a);
INSERT INTO t VALUES (1, nextval('s')), (2, nextval('s')) RETURNING *;
SELECT t.k, a FROM t, LATERAL (VALUES (nextval('s') + t.k * 0), (nextval('s'))) v (a) ORDER BY 1, 2;
SELECT a, count(*) FROM (VALUES (nextval('s') % 2), (nextval('s') % 2), (nextval('s') % 2)) v (a) GROUP BY a ORDER BY a;
SELECT (SELECT a FROM (VALUES (nextval('s') + t.k * 0)) v (a)) FROM t ORDER BY k;
SELECT nextval('s');
