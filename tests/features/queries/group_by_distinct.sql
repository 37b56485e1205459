CREATE TABLE gd (a int, b int, c int, v int);
INSERT INTO gd VALUES (1, 1, 1, 10), (1, 2, 1, 20), (2, 1, 2, 30), (2, NULL, 2, 40), (NULL, NULL, 3, 50);

SELECT a, count(*) FROM gd GROUP BY DISTINCT GROUPING SETS ((a), (a), (), ()) ORDER BY 1, 2;
SELECT a, count(*) FROM gd GROUP BY ALL GROUPING SETS ((a), (a), (), ()) ORDER BY 1, 2;
SELECT a, b, sum(v) FROM gd GROUP BY DISTINCT ROLLUP (a, b), ROLLUP (a) ORDER BY 1, 2, 3;
SELECT a, b, sum(v) FROM gd GROUP BY ROLLUP (a, b), ROLLUP (a) ORDER BY 1, 2, 3;
SELECT a, b, c, grouping(a, b, c), count(*) FROM gd GROUP BY DISTINCT ROLLUP (a, b), ROLLUP (a, c) ORDER BY 4, 1, 2, 3;
SELECT a, b, grouping(a, b), count(*) FROM gd GROUP BY DISTINCT CUBE (a, b), CUBE (b, a) ORDER BY 3, 1, 2;
SELECT a, b, count(*) FROM gd GROUP BY DISTINCT GROUPING SETS ((a, b), (b, a), (a, a, b)) ORDER BY 1, 2;
SELECT a, b, count(*) FROM gd GROUP BY DISTINCT a, CUBE (a, b) ORDER BY 1, 2, 3;
SELECT a, count(*) FROM gd GROUP BY DISTINCT a, a ORDER BY 1;
SELECT a + 1, count(*) FROM gd GROUP BY DISTINCT GROUPING SETS ((a + 1), (a + 1)) ORDER BY 1;
SELECT a, count(*) FROM gd GROUP BY DISTINCT GROUPING SETS ((a), ROLLUP (a)) HAVING count(*) > 1 ORDER BY 1, 2;
SELECT DISTINCT a, count(*) FROM gd GROUP BY GROUPING SETS ((a), (a)) ORDER BY 1;
CREATE VIEW gdv AS SELECT a, count(*) AS n FROM gd GROUP BY DISTINCT ROLLUP (a), ROLLUP (a);
SELECT * FROM gdv ORDER BY 1, 2;
