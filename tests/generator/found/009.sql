-- symptom: CREATE TABLE AS of numeric expressions: UPDATE rounds to a scale
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE m1 AS SELECT c0, c0 % 2 AS odd, c1 * 1.5 AS amount, avg(c1) OVER () AS mean, c2, c2 || 'x' AS more, 1.5 AS one FROM (SELECT 1 AS c0, 1.5 AS c1, t1.s AS c2 FROM e t1) z WITH NO DATA;
INSERT INTO m1 (c0, amount, mean, c2, more) VALUES ((SELECT max(c0) + 1 FROM m1), 2.12345, 1.0625, 'long text beyond', 'y');
UPDATE m1 SET amount = amount / 7, c2 = repeat(c2, 3) RETURNING c0, amount;
