-- what tables cannot hold yet is refused by name
CREATE TABLE lt (id integer PRIMARY KEY, n numeric, w numeric(50, 10), a numeric[]);
INSERT INTO lt VALUES (1, 99999999999999999999999999999999999999, 1234567890123456789012345678.0123456789, '{1,2.50}'), (7, 0, 0, NULL);
-- differs: more than 38 digits
INSERT INTO lt VALUES (2, 1e50, NULL, NULL);
INSERT INTO lt VALUES (3, 'NaN', NULL, NULL);
-- differs: more than 38 digits
UPDATE lt SET w = 12345678901234567890123456789012345678901::numeric / 10 WHERE id = 7;
-- differs: an infinity in an array
UPDATE lt SET a = '{1,Infinity}' WHERE id = 7;
UPDATE lt SET n = n - 1e37, w = w / 3, a = a || 7.25 WHERE id = 1;
INSERT INTO lt VALUES (4, 1, 1e40, NULL), (5, NULL, 1e41, NULL);
INSERT INTO lt VALUES (6, 0.5, 0.123456789055, NULL) RETURNING *;
SELECT * FROM lt WHERE id IN (1, 6) ORDER BY id;
CREATE TABLE sc (id integer PRIMARY KEY, t numeric(3, -3), s numeric(2, 4));
INSERT INTO sc VALUES (1, 123499, 0.00994), (2, -500, -0.0099);
INSERT INTO sc VALUES (3, 1e9, 0);
INSERT INTO sc VALUES (3, 0, 0.01);
SELECT t, s, t + s FROM sc ORDER BY id;
SELECT column_name, data_type, numeric_precision, numeric_scale FROM information_schema.columns WHERE table_name IN ('lt', 'sc') AND column_name IN ('w', 't', 's') ORDER BY column_name;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'sc'::regclass AND attnum > 0 ORDER BY attname;
