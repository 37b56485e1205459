-- COPY into columns of domains
CREATE DOMAIN positive AS integer DEFAULT 7 CHECK (VALUE > 0);
CREATE DOMAIN word AS varchar(5) NOT NULL;
CREATE TABLE t (id integer, p positive, w word);
COPY t FROM STDIN;
1	1	one
2	\N	two
\.
COPY t (id, w) FROM STDIN;
3	three
\.
-- state only: PostgreSQL names the column
COPY t FROM STDIN;
4	4	four
5	-5	five
\.
-- state only: PostgreSQL names the column
COPY t FROM STDIN;
6	6	\N
\.
COPY t FROM STDIN;
7	7	seventh
\.
SELECT * FROM t ORDER BY id;
COPY t TO STDOUT;
