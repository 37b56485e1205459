CREATE TABLE a (x integer PRIMARY KEY, y integer);
INSERT INTO a VALUES (1, 2), (2, 3), (3, NULL);
-- a limit in LATERAL holds for each row, whatever joins are around
SELECT * FROM a LEFT JOIN (a b JOIN LATERAL (SELECT * FROM a c WHERE c.x >= b.x ORDER BY c.x LIMIT 1) q ON true) ON a.x = b.x ORDER BY a.x;
SELECT * FROM a LEFT JOIN (a b LEFT JOIN LATERAL (SELECT * FROM a c WHERE c.x > b.x ORDER BY c.x LIMIT 1) q ON q.y > 2) ON a.x = b.x ORDER BY a.x;
SELECT * FROM a FULL JOIN a b ON a.x = b.x LEFT JOIN LATERAL (SELECT c.x FROM a c WHERE c.x < b.x ORDER BY c.x DESC LIMIT 1) q ON true ORDER BY a.x;
SELECT * FROM a FULL JOIN a b ON a.x = b.x JOIN LATERAL (SELECT c.x FROM a c WHERE c.x < b.x ORDER BY c.x DESC LIMIT 1) q ON true ORDER BY a.x;
SELECT * FROM a FULL JOIN a b ON a.x = b.y, LATERAL (SELECT c.x FROM a c WHERE c.x <= b.x ORDER BY c.x DESC OFFSET 1 LIMIT 1) q ORDER BY b.x;
SELECT * FROM a FULL JOIN a b ON a.x = b.x, LATERAL (SELECT DISTINCT ON (c.y IS NULL) c.x FROM a c WHERE c.x <= b.x ORDER BY c.y IS NULL, c.x DESC) q ORDER BY b.x, q.x;
SELECT * FROM a FULL JOIN a b ON a.x = b.x, LATERAL generate_series(b.x, b.y) q ORDER BY b.x, q;
