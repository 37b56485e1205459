-- symptom: grouping sets: an expression of a group key that is NULL in that set is 0 (keys that are never NULL in the rows)
SELECT * FROM (SELECT (1 - (t1.c0 % 3)) AS c0, (t1.c0 % 3) AS c1, sum(DISTINCT CASE WHEN t1.c0 IS NOT NULL THEN 1 END) AS c2 FROM generate_series(1, least(3, 0)::integer) t1(c0) GROUP BY CUBE ((t1.c0 % 3), t1.c0)) o ORDER BY 1, 2, 3 DESC NULLS LAST;
SELECT coalesce(t1.c0, t1.c0) AS c0, count(*) AS c1 FROM generate_series(1, 2) t1(c0) GROUP BY CUBE (t1.c0) ORDER BY 1, 2;
