-- The order of a derived table below aggregates that show it, correlated and not.
CREATE TABLE p (k int PRIMARY KEY, x int, y int NOT NULL);
CREATE TABLE q (k int PRIMARY KEY, x int, y int);
CREATE TABLE r (k int, x int, y int);
INSERT INTO p VALUES (1,1,3),(2,NULL,1),(3,2,2),(4,2,5),(5,7,1);
INSERT INTO q VALUES (10,1,1),(20,NULL,2),(3,2,NULL),(4,2,5),(5,1,5),(1,NULL,NULL);
INSERT INTO r VALUES (1,1,1),(1,NULL,2),(2,2,2),(NULL,2,3),(3,NULL,NULL),(2,2,2),(4,5,1);
SELECT k, (SELECT string_agg(a.k::text, ',') FROM (SELECT q.k FROM q WHERE q.k >= p.k ORDER BY q.k DESC) a) FROM p ORDER BY 1;
SELECT k, (SELECT json_agg(a.k) FROM (SELECT q.k FROM q WHERE q.x = p.x ORDER BY q.y NULLS FIRST, q.k) a WHERE a.k > 1) FROM p ORDER BY 1;
SELECT k, (SELECT array_agg(a.k) FROM (SELECT q.k FROM q ORDER BY q.y NULLS FIRST, q.k) a WHERE a.k > p.k) FROM p ORDER BY 1;
SELECT k, (SELECT array_agg(a.k) FROM (SELECT q.k FROM q ORDER BY q.k DESC LIMIT 3) a WHERE a.k > p.k) FROM p ORDER BY 1;
SELECT k, s FROM p, LATERAL (SELECT array_agg(a.k) s FROM (SELECT q.k, q.y FROM q WHERE q.k >= p.k ORDER BY q.k DESC) a GROUP BY p.x) l ORDER BY 1;
SELECT k, l.y, s FROM p, LATERAL (SELECT a.y, array_agg(a.k) s FROM (SELECT q.k, q.y FROM q WHERE q.k >= p.k ORDER BY q.k DESC) a GROUP BY a.y) l ORDER BY 1, 2;
SELECT k, ARRAY(SELECT q.k FROM q WHERE q.x = p.x ORDER BY q.k DESC) FROM p ORDER BY 1;
SELECT k, l.n, l.v FROM p, LATERAL (SELECT row_number() OVER () n, a.k v FROM (SELECT q.k FROM q WHERE q.k >= p.k ORDER BY q.k DESC) a) l ORDER BY 1, 2;
