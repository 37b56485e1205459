CREATE TABLE t (b boolean, s smallint, i integer, l bigint, n numeric, p numeric(30, 5), r real, d double precision, c char(4), v varchar(9), x text, day date, ts timestamp, tz timestamptz, tm time, iv interval, u uuid, y bytea, j jsonb, ai integer[], at text[]);
COPY t FROM STDIN;
t	-5	7	9000000000000	12345678901234567890.5	-1.00001	1.5	1e300	ab	xyz	text	2000-01-01	2001-02-03 04:05:06.789	2001-02-03 04:05:06+02	23:59:59	1 day 02:00:00	a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11	\\xdeadbeef	{"a": [1, 2]}	{1,2,NULL}	{"a b","c\\"d",NULL}
f	\N	-7	-1	0.000	99999999999999999999.12345	-0	-1.25	\N		\N	1999-12-31	\N	\N	00:00:00	-3 mons	\N	\\x	null	{}	\N
\.
SELECT * FROM t ORDER BY i;
COPY (SELECT * FROM t ORDER BY i) TO STDOUT;
COPY (SELECT * FROM t ORDER BY i) TO STDOUT (FORMAT csv);
COPY t (u) FROM STDIN;
not-a-uuid
\.
COPY t (j) FROM STDIN;
{"a":
\.
COPY t (ai) FROM STDIN;
{1,x}
\.
COPY t (y) FROM STDIN;
\\xzz
\.
COPY t (p) FROM STDIN;
1e30
\.
COPY t (s) FROM STDIN;
40000
\.
COPY t (b) FROM STDIN;
perhaps
\.
