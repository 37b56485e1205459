-- more digits than 128 bits hold
SELECT 123456789012345678901234567890123456789012345678901234567890.5 AS a, -1e50 AS b, 1e-60 AS c;
SELECT '12345678901234567890123456789012345678901234567890'::numeric + 1, 99999999999999999999999999999999999999 + 1::numeric;
SELECT 99999999999999999999 * 99999999999999999999::numeric * 99999999999999999999, 1e40 - 1, 1e40 - 1e40;
SELECT 1e60 / 7, 1 / 7e40, 1e60 % 7, div(1e60, 7), mod(1e60, 7), 1e300 / 1e299;
SELECT power(2::numeric, 200), 2::numeric ^ 0.5, power(1.5, 300), power(7, -30::numeric), power(0.1, 50);
SELECT sqrt(2e60), sqrt(1e-50), exp(100.0), exp(-100.0), ln(1e100), log(1e100), log(2.0, 1e50), exp(1e-40);
SELECT factorial(50), factorial(100), gcd(1e50, 12e48), lcm(1e30, 7e20), abs(-1e50), sign(-1e50), sign(1e50);
SELECT round(1234567890123456789012345678901234567890.987654321, 3), trunc(-1e50 - 0.7), ceil(1e50 + 0.1), floor(-1e50 - 0.1);
SELECT round(1e50 / 3, -45), round(1.5, 300), round(5e49 + 5, -1), trunc(1e45 / 7, 30);
SELECT scale(1e-300), min_scale(1e50 + 0.500), trim_scale(1e50 + 0.500), scale('NaN'::numeric), width_bucket(5e40, 0, 1e41, 10);
SELECT 1e50 = 1e50 + 0.0, 1e50 < 1e51, 1e50 > 5, -1e50 < 5, greatest(1e50, 3, 1e49), least(-1e50, 3), 1e50 BETWEEN 1 AND 1e60;
SELECT 1e50::text, 1e50::double precision, 1e38::real, (1e50 / 1e40)::bigint;
SELECT 1e20::bigint;
SELECT 1e50::integer;
SELECT 1e50::real;
SELECT 1e400::double precision;
SELECT (1e308::double precision)::numeric, 'Infinity'::double precision::numeric, 'NaN'::real::numeric;
SELECT '1e131071'::numeric = power(10::numeric, 131071), length((power(10::numeric, 131071))::text);
SELECT '1e131072'::numeric;
SELECT power(10::numeric, 131072);
SELECT exp(6001.0);
SELECT 1e131071 * 10;
SELECT factorial(-1);
-- declared
SELECT 1::numeric(50, 20), 12345678901234567890123456789012345678901234.567::numeric(46, 2), 12345::numeric(3, -3), 0.00012345::numeric(2, 5);
SELECT 1e48::numeric(50, 3);
SELECT 0.1::numeric(2, 5);
SELECT 1::numeric(1000, 1000);
-- NaN and infinities
SELECT 'NaN'::numeric, 'Infinity'::numeric, '-inf'::numeric, ' nan '::numeric, -'Infinity'::numeric, -'NaN'::numeric;
SELECT 'NaN'::numeric = 'NaN'::numeric, 'NaN'::numeric > 'Infinity'::numeric, 'Infinity'::numeric > 1e100, '-Infinity'::numeric < -1e100;
SELECT a.x + b.x, a.x - b.x, a.x * b.x, abs(a.x), sign(a.x), round(a.x, 2), ceil(a.x) FROM (VALUES (1, 1.5), (2, 'NaN'::numeric), (3, 'Infinity'), (4, '-Infinity'), (5, 0)) AS a(i, x), (VALUES (1, 1.5), (2, 'NaN'::numeric), (3, 'Infinity'), (4, '-Infinity'), (5, 0)) AS b(i, x) ORDER BY a.i, b.i;
SELECT a.x / b.x, a.x % b.x, div(a.x, b.x) FROM (VALUES (1, 1.5), (2, 'NaN'::numeric), (3, 'Infinity'), (4, '-Infinity')) AS a(i, x), (VALUES (1, 1.5), (2, 'NaN'::numeric), (3, 'Infinity'), (4, '-Infinity')) AS b(i, x) ORDER BY a.i, b.i;
SELECT 'Infinity'::numeric / 0;
SELECT sqrt('Infinity'::numeric), exp('-Infinity'::numeric), exp('Infinity'::numeric), ln('Infinity'::numeric), power('Infinity'::numeric, -2), power(2, 'Infinity'::numeric), power('-Infinity'::numeric, 3);
SELECT sqrt('-Infinity'::numeric);
SELECT ln('-Infinity'::numeric);
SELECT 'NaN'::numeric::integer;
SELECT 'Infinity'::numeric::bigint;
SELECT 'Infinity'::numeric(50, 2);
SELECT 'Infinity'::numeric(5, 2);
SELECT 'NaN'::numeric(50, 2), 'NaN'::numeric::double precision, '-Infinity'::numeric::double precision;
SELECT * FROM generate_series(1, 'NaN'::numeric);
-- aggregates, groups, order
CREATE TABLE nl (id integer PRIMARY KEY, n numeric, k numeric(38, 0));
INSERT INTO nl SELECT i, i * 1000000000000000000.5, 10000000000000000000000000000 * i::numeric FROM generate_series(1, 20) AS s(i);
SELECT sum(n * n * n), avg(n * n * n), min(n * n * n), max(n * n * n) FROM nl;
SELECT stddev(n * n * n), variance(n * n), var_pop(n * 1e20), stddev_pop(n * 1e30) FROM nl;
SELECT n * n * n AS c, count(*) FROM nl, generate_series(1, 2) GROUP BY c ORDER BY c DESC LIMIT 3;
SELECT DISTINCT id % 3 * 1e45 AS d FROM nl ORDER BY d;
SELECT a.id, b.id FROM nl AS a JOIN nl AS b ON a.n * 1e30 = b.n * 1e30 WHERE a.id < 4 ORDER BY a.id;
SELECT id, sum(n * 1e30) OVER (ORDER BY id ROWS 2 PRECEDING) FROM nl ORDER BY id LIMIT 4;
SELECT array_agg(n * 1e30 ORDER BY id) FROM nl WHERE id < 3;
SELECT sum(x), avg(x), max(x), min(x), variance(x) FROM (VALUES (1.0), ('NaN'::numeric), (2)) AS v(x);
SELECT sum(x), avg(x), max(x), min(x) FROM (VALUES (1.0), ('Infinity'::numeric), (2)) AS v(x);
SELECT x FROM (VALUES (1.0), ('NaN'::numeric), (1e50), ('-Infinity'), ('Infinity'), (-1e50), (0)) AS v(x) ORDER BY x;
SELECT id FROM nl WHERE n < 1e50 AND n > -1e60 AND n <> 1e70 ORDER BY id LIMIT 2;
CREATE INDEX nl_n ON nl (n);
SELECT count(*) FROM nl WHERE n < 1e50;
SELECT count(*) FROM nl WHERE n > -1e50 AND n < 'NaN'::numeric;
SELECT count(*) FROM nl WHERE n > 1e-300 AND n < 5000000000000000000.00000000000000000000000000000000000000000001;
SELECT count(*) FROM nl WHERE n = 1e50;
SELECT count(*) FROM nl WHERE n = 4000000000000000002.0000000000000000000000000000000000000000000000000;
-- text of it
SELECT to_char(123456789012345678901234567890123456789012345, '999G999G999G999G999G999G999G999G999G999G999G999G999G999G999'), concat(1e40, '|', 'NaN'::numeric), 1e45 || 'x';
SELECT to_number('12345678901234567890123456789012345678901234567', '99999999999999999999999999999999999999999999999');
SELECT to_jsonb(1e45), to_jsonb('NaN'::numeric), '1e45'::jsonb::numeric, jsonb_build_array(1e45);
SELECT pg_typeof(1e50), pg_typeof(power(2::numeric, 200));
SELECT ARRAY[1e50, 1, 'NaN'], '{1e50,Infinity}'::numeric[], 1e50 = ANY (ARRAY[1, 1e50]), ARRAY[1e50] = ARRAY[1e50];
-- procedures
CREATE FUNCTION fib(n integer) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  a numeric := 0;
  b numeric := 1;
  c numeric;
BEGIN
  FOR i IN 1..n LOOP
    c := a + b;
    a := b;
    b := c;
  END LOOP;
  RETURN a;
END $$;
SELECT fib(90), fib(300), fib(300) - fib(299) = fib(298);
CREATE FUNCTION biggest(VARIADIC v numeric[]) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  r numeric(60, 2) := 0;
  x numeric;
BEGIN
  FOREACH x IN ARRAY v LOOP
    IF x > r THEN
      r := x;
    END IF;
  END LOOP;
  RETURN r;
EXCEPTION WHEN numeric_value_out_of_range THEN
  RETURN -1;
END $$;
SELECT biggest(1, 1e40, 3e40), biggest(1e70), biggest(-1);
DO $$
DECLARE
  x numeric := 1;
BEGIN
  FOR i IN 1..60 LOOP
    x := x * 10 + i % 10;
  END LOOP;
  RAISE NOTICE 'x = %, half = %', x, x / 2;
  EXECUTE 'SELECT $1 * 2' INTO x USING x;
  RAISE NOTICE 'twice = %', -x;
END $$;
CREATE FUNCTION exact(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT $1 * $1 + 1e-40';
SELECT exact(1e30), exact('NaN'), exact(1.5);
