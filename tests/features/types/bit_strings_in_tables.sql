CREATE TABLE bits (b bit(4) PRIMARY KEY, v bit varying(6), l varbit[], d bit(4) DEFAULT '1001', n integer);
INSERT INTO bits (b, v, l, n) VALUES (B'0101', B'', '{1,NULL,010}', 1), ('1111', '101', '{}', 2), (X'A', 'x1f', NULL, 3);
INSERT INTO bits (b) VALUES (B'101');
INSERT INTO bits (b) VALUES ('10101');
INSERT INTO bits (b, v) VALUES (B'0000', B'1010101');
INSERT INTO bits (b, n) VALUES (B'1111', 4);
SELECT * FROM bits ORDER BY b;
SELECT n FROM bits WHERE b = B'1010';
SELECT n FROM bits WHERE b > '0101' ORDER BY n;
CREATE INDEX bits_v ON bits (v);
SELECT n FROM bits WHERE v = '101';
SELECT n FROM bits WHERE v >= '1' ORDER BY n;
SELECT b & '0110', b || v, b << 1, b::integer FROM bits ORDER BY b;
SELECT d, count(*), bit_or(b) FROM bits GROUP BY d;
SELECT b, bit_or(b) OVER (ORDER BY b) FROM bits ORDER BY b;
SELECT min(b) FROM bits;
SELECT x.n, y.n FROM bits x JOIN bits y ON x.b = ~ y.b ORDER BY 1;
UPDATE bits SET v = b, b = b # B'1111' WHERE n = 1 RETURNING b, v;
ALTER TABLE bits ALTER v TYPE bit(6) USING v::bit(6);
SELECT b, v FROM bits ORDER BY b;
COPY bits (b, v, n) FROM STDIN;
X1	000000	8
b0011	111111	9
\.
COPY bits (b) FROM STDIN;
X11
\.
SELECT b, v, n FROM bits ORDER BY b;
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 'bits' ORDER BY ordinal_position;
SELECT attname, format_type(atttypid, atttypmod), atttypmod FROM pg_attribute WHERE attrelid = 'bits'::regclass AND attnum > 0 ORDER BY attnum;
CREATE TABLE wrong (b bit(0));
CREATE TABLE wrong (b bit varying(0));
