SELECT pg_typeof(nullif(1, 2.5)), pg_typeof(nullif('a', 'b')), pg_typeof(nullif(1, 2::bigint)), pg_typeof(nullif(date '2020-01-01', timestamp '2020-01-01')), pg_typeof(nullif('a'::varchar, 'b'));
SELECT pg_typeof(nullif(1, NULL)), pg_typeof(nullif(NULL, 1)), pg_typeof(nullif('1', 1)), pg_typeof(nullif(1.5, 1)), pg_typeof(nullif(1::smallint, 1)), pg_typeof(nullif(1, 1.0::real));
SELECT nullif(1, 'x');
SELECT nullif(1, true);
SELECT nullif(7, 2.5) / 2, nullif(ARRAY[1], '{1}'), nullif(1, 1.0);
CREATE TABLE t (a int, b numeric, c varchar(3), d char(3), e real);
INSERT INTO t VALUES (1, 2.5, 'x', 'y', 0.5);
SELECT pg_typeof(nullif(a, b)), pg_typeof(nullif(b, a)), pg_typeof(nullif(c, 'z')), pg_typeof(nullif(d, 'z')), pg_typeof(nullif(a, e)), pg_typeof(nullif(b, e)) FROM t;
SELECT nullif(a, b), nullif(b, a), nullif(c, 'x'), nullif(d, 'y  '), nullif(a, e) FROM t;
