CREATE TABLE t (a integer, b text, c text);
COPY t FROM STDIN WITH (FORMAT csv);
1,plain,x
2,"quoted, with comma","say ""hi"""
3,,""
4,"two
lines",end
5,"a""b"c,"x"y"z"
\.
SELECT a, b, c, c IS NULL AS n FROM t ORDER BY a;
COPY t FROM STDIN CSV HEADER;
a,b,c
6,"\.",\N
\.
SELECT * FROM t WHERE a = 6;
COPY t FROM STDIN WITH (FORMAT csv, DELIMITER ';', QUOTE '''', ESCAPE '\', NULL 'nil');
7;'it\'s';nil
8;'nil';'back\\slash'
\.
SELECT a, b, c, b IS NULL AS bn, c IS NULL AS cn FROM t WHERE a > 6 ORDER BY a;
COPY t FROM STDIN WITH (FORMAT csv, FORCE_NOT_NULL (b), FORCE_NULL (c));
9,,""
10,"",
\.
SELECT a, b IS NULL AS b, c IS NULL AS c FROM t WHERE a > 8 ORDER BY a;
COPY t FROM STDIN WITH (FORMAT csv, HEADER match);
a,b,c
11,x,y
\.
COPY t (c, a) FROM STDIN WITH (FORMAT csv, HEADER match);
c,a
z,12
\.
SELECT * FROM t WHERE a > 10 ORDER BY a;
COPY t FROM STDIN WITH (FORMAT csv, HEADER match);
a,c,b
1,x,y
\.
COPY t FROM STDIN WITH (FORMAT csv, HEADER match);
a,b
1,x
\.
COPY t FROM STDIN WITH (FORMAT csv, HEADER match);
a,,c
1,x,y
\.
SELECT count(*) FROM t;
