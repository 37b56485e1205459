SELECT g, g + 1, g.g FROM generate_series(1, 2) AS g;
SELECT g FROM generate_series(1, 2) AS g (n);
SELECT u FROM unnest(ARRAY[3, 4]) AS u (x) ORDER BY u DESC;
SELECT count(u), max(u) FROM unnest(ARRAY[3, 4]) AS u (x);
