CREATE TABLE t (id integer PRIMARY KEY, name varchar(5) NOT NULL, qty integer CHECK (qty > 0), at timestamp);
COPY t FROM STDIN;
1	one	1	2024-01-01 00:00:00
x	two	2	2024-01-01 00:00:00
\.
SELECT count(*) FROM t;
COPY t FROM STDIN;
1	one	1
\.
COPY t FROM STDIN;
1	one	1	2024-01-01	extra
\.
COPY t FROM STDIN;
1	one	1	2024-01-01
2	toolong	1	2024-01-01
\.
COPY t FROM STDIN;
1	one	1	2024-13-01
\.
COPY t FROM STDIN;
1	\N	1	2024-01-01
\.
COPY t FROM STDIN;
1	one	1	2024-01-01
2	two	0	2024-01-01
\.
COPY t FROM STDIN;
1	one	1	2024-01-01
2	two	5	2024-01-01
1	three	7	2024-01-01
\.
COPY t FROM STDIN;
99999999999	one	1	2024-01-01
\.
COPY t FROM STDIN;
1	a\xffb	1	2024-01-01
\.
COPY t FROM STDIN;

\.
COPY t FROM STDIN WITH (FORMAT csv);
1,"open,1,2024-01-01
2,two,2,2024-01-01
\.
COPY t FROM STDIN WITH (FORMAT csv);
1,one,abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz,2024-01-01
\.
SELECT count(*) FROM t;
