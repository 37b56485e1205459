CREATE TABLE s (y integer, q integer, v integer);
INSERT INTO s VALUES (2023, 1, 10), (2023, 2, 20), (2023, 4, 40), (2024, 1, 11), (2024, 3, 31);
SELECT y, sum(v) FILTER (WHERE q = 1) AS q1, sum(v) FILTER (WHERE q = 2) AS q2, sum(v) FILTER (WHERE q = 3) AS q3, sum(v) FILTER (WHERE q = 4) AS q4 FROM s GROUP BY y ORDER BY y;
SELECT y, max(CASE WHEN q = 1 THEN v END) AS q1, max(CASE WHEN q = 3 THEN v ELSE 0 END) AS q3 FROM s GROUP BY y ORDER BY y;
SELECT p.y, u.q, u.v FROM (SELECT y, sum(v) FILTER (WHERE q < 3) AS h1, sum(v) FILTER (WHERE q > 2) AS h2 FROM s GROUP BY y) AS p, LATERAL (VALUES ('h1', p.h1), ('h2', p.h2)) AS u (q, v) ORDER BY 1, 2;
SELECT y, array_agg(v ORDER BY q) AS vs, string_agg(q || '=' || v, ';' ORDER BY q) AS txt FROM s GROUP BY y ORDER BY y;
SELECT y, q, v, sum(v) OVER (PARTITION BY y ORDER BY q) AS running, round(100.0 * v / sum(v) OVER (PARTITION BY y), 1) AS pct FROM s ORDER BY y, q;
SELECT yy.y, qq.q, coalesce(s.v, 0) AS v FROM (SELECT DISTINCT y FROM s) AS yy CROSS JOIN generate_series(1, 4) AS qq (q) LEFT JOIN s ON s.y = yy.y AND s.q = qq.q ORDER BY 1, 2;
