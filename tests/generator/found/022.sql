-- symptom: crash (expression.cc:177): grouping sets over correlated VALUES in ON ... < ANY
SELECT 'a'::text AS c0 FROM LATERAL (VALUES (''::text)) t2(c0) JOIN unnest(ARRAY[1, 1]) WITH ORDINALITY t3(c0, c1) ON (1.5 < ANY (SELECT sum(DISTINCT 1.5) AS c0 FROM LATERAL (VALUES (3), (t3.c1)) t4(c0) GROUP BY GROUPING SETS ((t4.c0, (t4.c0 % 3), t4.c0), (t4.c0), ())));
