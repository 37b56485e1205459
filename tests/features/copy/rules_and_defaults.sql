CREATE TABLE parent (id integer PRIMARY KEY);
INSERT INTO parent VALUES (1), (2);
CREATE TABLE t (id serial PRIMARY KEY, ref integer REFERENCES parent, v integer DEFAULT 7, twice integer GENERATED ALWAYS AS (v * 2) STORED, k integer GENERATED ALWAYS AS IDENTITY);
COPY t (ref) FROM STDIN;
1
2
\N
\.
SELECT * FROM t ORDER BY id;
COPY t (id, ref, v, k) FROM STDIN;
10	1	\N	100
11	2	5	101
\.
SELECT * FROM t WHERE id > 9 ORDER BY id;
COPY t (ref) FROM STDIN;
1
3
\.
SELECT count(*) FROM t;
COPY t (ref, v) FROM STDIN WHERE v > 3 AND t.id > 0;
1	2
1	4
2	9
\.
SELECT ref, v, twice FROM t ORDER BY id DESC LIMIT 2;
CREATE TABLE tree (id integer PRIMARY KEY, up integer REFERENCES tree);
COPY tree FROM STDIN;
1	2
2	3
3	\N
\.
COPY tree FROM STDIN;
4	9
\.
SELECT * FROM tree ORDER BY id;
CREATE TABLE plain (a integer, b integer DEFAULT 3);
COPY plain (a) FROM STDIN WHERE b = 3 AND a <> 2;
1
2
3
\.
SELECT * FROM plain ORDER BY a;
