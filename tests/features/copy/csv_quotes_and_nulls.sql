CREATE TABLE q (id integer PRIMARY KEY, a text, b text DEFAULT 'dflt', n numeric(6, 2));
COPY q FROM STDIN (FORMAT csv);
1,plain,"quoted, comma",1.5
2,"say ""hi""",,2
3,"","x",
4,"two
lines",y,-0.005
\.
SELECT id, a, b, n, a IS NULL AS a_null FROM q ORDER BY id;
COPY q (id, a) FROM STDIN (FORMAT csv, HEADER, NULL 'nil', DELIMITER ';');
id;a
5;nil
6;"nil"
7;'x'
\.
SELECT id, a, b FROM q WHERE id > 4 ORDER BY id;
COPY q FROM STDIN (FORMAT csv, FORCE_NULL (a), FORCE_NOT_NULL (b));
8,"",,8
\.
SELECT id, a IS NULL, b = '' FROM q WHERE id = 8;
COPY q FROM STDIN (FORMAT csv);
9,"open
\.
COPY q FROM STDIN (FORMAT csv);
9,a,b
\.
COPY q FROM STDIN (FORMAT csv);
9,a,b,1,extra
\.
COPY q FROM STDIN (FORMAT csv);
9,a,b,99999
\.
COPY q FROM STDIN (FORMAT csv, QUOTE '''', ESCAPE '\');
9,'it\'s',plain,3
\.
SELECT a FROM q WHERE id = 9;
SELECT count(*) FROM q;
COPY q FROM STDIN (FORMAT csv) WHERE id % 2 = 0;
10,a,b,1
11,a,b,1
\.
SELECT max(id) FROM q;
