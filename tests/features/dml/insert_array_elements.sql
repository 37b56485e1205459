CREATE TABLE e (id integer PRIMARY KEY, a integer[], t text[] DEFAULT '{x}', v varchar(3)[]);
INSERT INTO e (id, a[1], a[2]) VALUES (1, 10, 20);
INSERT INTO e (a[2], id, t[1], a[4]) VALUES (5, 2, 'one', 7), ('6', 3, NULL, 8);
INSERT INTO e (id, a[1:2], t[2:3]) VALUES (4, '{1,2,3}', ARRAY['b', 'c']);
INSERT INTO e (id, a[3], a[1]) SELECT i, i * 10, '7' FROM generate_series(5, 6) AS i;
INSERT INTO e (id, a[1 + 1]) VALUES (7, 1) RETURNING a, a[2], t;
INSERT INTO e (id, a[1]) VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET a[3] = excluded.a[1] RETURNING a;
SELECT * FROM e ORDER BY id;
INSERT INTO e (id, a[1], a) VALUES (8, 1, '{2}');
INSERT INTO e (id, a, a[1]) VALUES (8, '{2}', 1);
INSERT INTO e (id, id[1]) VALUES (8, 1);
INSERT INTO e (id, a[1]) VALUES (8, DEFAULT);
INSERT INTO e (id, a[1]) VALUES (8, 'x');
INSERT INTO e (id, a[1]) VALUES (8, 1.5), (9, true);
INSERT INTO e (id, a[1]) VALUES (8, true);
INSERT INTO e (id, a['x']) VALUES (8, 1);
INSERT INTO e (id, a[NULL]) VALUES (8, 1);
INSERT INTO e (id, v[1]) VALUES (8, 'abcd');
INSERT INTO e (id, a[1], a[2]) VALUES (8, 1);
INSERT INTO e (id, a[1]) VALUES (8, 1, 2);
INSERT INTO e (id, v[2], v[1]) VALUES (8, 'abc', 'd') RETURNING v;
MERGE INTO e USING (VALUES (1, 3), (20, 4)) AS s (id, n) ON e.id = s.id
  WHEN MATCHED THEN UPDATE SET a[1] = s.n WHEN NOT MATCHED THEN INSERT (id, a[2], a[1]) VALUES (s.id, s.n, s.n + 1);
SELECT id, a FROM e WHERE id IN (1, 20) ORDER BY id;
CREATE FUNCTION adds(i integer, n integer) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO e (id, a[n], t[n]) VALUES (i, n, n::text); RETURN (SELECT a::text || t::text FROM e WHERE id = i); END $$;
SELECT adds(30, 1), adds(31, 3);
