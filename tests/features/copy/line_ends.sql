CREATE TABLE t (a text, b text);
COPY t FROM STDIN;
1	x
2	y
\.
SELECT a, length(b) FROM t ORDER BY a;
COPY t FROM STDIN;
3	x
4	y
\.
COPY t FROM STDIN;
3	x
4	y
\.
COPY t FROM STDIN CSV;
3,x
4,y
\.
COPY t FROM STDIN CSV;
3,"x
y"
4,y
\.
COPY t FROM STDIN;
5	a\
b
6	c
\.
COPY t FROM STDIN;
7	a\.
\.
COPY t FROM STDIN;
7	a
\.x
\.
COPY t FROM STDIN CSV;
8,a
\.x,b
x,"\."
\.
COPY t FROM STDIN CSV;
9,"a
b
c"
10,
11
\.
SELECT a, b, length(b) FROM t ORDER BY a, b;
