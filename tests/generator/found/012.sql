-- symptom: CREATE TABLE AS of numeric expressions: INSERT of a greater number is refused 22003
CREATE TABLE r (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE m1 AS SELECT c0, c0 % 2 AS odd, c1 * 1.5 AS amount, avg(c1) OVER () AS mean, c2, c2 || 'x' AS more, c1::numeric(10,1) AS one FROM (SELECT 1 AS c0, 1.5 AS c1, 'a'::text AS c2 FROM r t1) z;
INSERT INTO m1 (c0, amount, mean, c2, more) VALUES (NULL, 123456789012.5, 1.0625, 'long text beyond', 'y');
