CREATE TABLE hits (page text, day date, n integer NOT NULL DEFAULT 1, PRIMARY KEY (page, day));
INSERT INTO hits (page, day) VALUES ('a', '2024-01-01') ON CONFLICT (page, day) DO UPDATE SET n = hits.n + 1 RETURNING n;
INSERT INTO hits (page, day) VALUES ('a', '2024-01-01') ON CONFLICT (page, day) DO UPDATE SET n = hits.n + 1 RETURNING n;
INSERT INTO hits (page, day) VALUES ('a', '2024-01-01'), ('b', '2024-01-01') ON CONFLICT (day, page) DO UPDATE SET n = hits.n + 10 RETURNING page, n;
INSERT INTO hits SELECT 'b', date '2024-01-01' + g, g FROM generate_series(0, 2) AS g ON CONFLICT (page, day) DO UPDATE SET n = greatest(hits.n, excluded.n);
INSERT INTO hits VALUES ('a', '2024-01-01', 0) ON CONFLICT (page, day) DO UPDATE SET n = excluded.n WHERE hits.n < excluded.n RETURNING n;
INSERT INTO hits VALUES ('a', NULL) ON CONFLICT DO NOTHING;
INSERT INTO hits VALUES ('a', '2024-01-01') ON CONFLICT (page) DO NOTHING;
SELECT * FROM hits ORDER BY page, day;
