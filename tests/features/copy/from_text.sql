CREATE TABLE t (id integer PRIMARY KEY, name text, price numeric(8, 2), at date);
COPY t FROM STDIN;
1	apple	1.50	2024-02-29
2	pear\twith tab	\N	2024-03-01
3	\\N	-0.10	\N
\.
SELECT * FROM t ORDER BY id;
COPY t (name, id) FROM STDIN;
line\nbreak	4
\x41\102\103\x	5
\d \e	6
	7
\.
SELECT id, name, price, length(name) FROM t WHERE id > 3 ORDER BY id;
COPY t FROM STDIN WITH (DELIMITER '|', NULL 'none');
8|none|none|none
9|a\|b|3|2024-01-01
\.
SELECT * FROM t WHERE id > 7 ORDER BY id;
COPY t FROM STDIN WITH DELIMITER ';' NULL AS '';
10;;;
\.
SELECT * FROM t WHERE id = 10;
COPY t FROM STDIN;
\.
COPY t (id) FROM STDIN (HEADER);
id
11
\.
SELECT count(*), sum(id) FROM t;
