CREATE TABLE seen (d date PRIMARY KEY);
INSERT INTO seen VALUES ('2024-01-01'), ('2024-01-02'), ('2024-01-03'), ('2024-01-06'), ('2024-01-07'), ('2024-01-10');
SELECT min(d), max(d), count(*) FROM (SELECT d, d - (row_number() OVER (ORDER BY d))::integer AS g FROM seen) AS s GROUP BY g ORDER BY 1;
SELECT d + 1 AS gap_from, next - 1 AS gap_to FROM (SELECT d, lead(d) OVER (ORDER BY d) AS next FROM seen) AS s WHERE next > d + 1 ORDER BY 1;
SELECT g::date AS missing FROM generate_series(timestamp '2024-01-01', timestamp '2024-01-10', interval '1 day') AS g WHERE g::date NOT IN (SELECT d FROM seen) ORDER BY 1;
SELECT d, count(*) OVER (ORDER BY d RANGE BETWEEN interval '2 days' PRECEDING AND CURRENT ROW) AS within FROM seen ORDER BY d;
SELECT max(n) FROM (SELECT count(*) AS n FROM (SELECT d - (rank() OVER (ORDER BY d))::integer AS g FROM seen) AS a GROUP BY g) AS b;
