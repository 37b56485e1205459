-- no value of jsonb is looked into where it is NULL
CREATE TABLE t (k integer PRIMARY KEY, a jsonb, b jsonb);
INSERT INTO t VALUES (1, NULL, '1'), (2, '{"a": 1}', NULL), (3, NULL, NULL), (4, '[1]', '[1]'), (5, 'null', 'null');
SELECT k, a = b, a < b, a <> b, a IS DISTINCT FROM b, a -> 'a', a || b, a @> b, b @> a, a ? 'a', jsonb_typeof(a), a::text FROM t ORDER BY k;
SELECT k FROM t WHERE a = b OR a > b ORDER BY k;
SELECT x.k, y.k FROM t x JOIN t y ON x.a = y.b ORDER BY 1, 2;
SELECT x.k, y.k FROM t x LEFT JOIN t y ON x.a = y.b AND x.b < y.a ORDER BY 1, 2;
SELECT a, count(*), count(b), jsonb_agg(b ORDER BY k) FROM t GROUP BY a ORDER BY a;
SELECT DISTINCT b FROM t ORDER BY b DESC NULLS LAST;
SELECT count(DISTINCT a), count(DISTINCT b) FROM t;
SELECT k, CASE WHEN a IS NOT NULL THEN a = b END, coalesce(a, b), nullif(a, b), greatest(a, b), least(a, b) FROM t ORDER BY k;
SELECT k, (SELECT y.a FROM t y WHERE y.k = x.k + 10) = x.a, to_jsonb(a), jsonb_build_array(a, b), jsonb_set(a, '{a}', b) FROM t x ORDER BY k;
SELECT k, rank() OVER (ORDER BY a), lag(b) OVER (ORDER BY k) = b FROM t ORDER BY k;
SELECT a FROM t UNION SELECT b FROM t ORDER BY 1;
SELECT k FROM t WHERE a IN (SELECT b FROM t) ORDER BY k;
SELECT k FROM t WHERE a NOT IN (SELECT b FROM t WHERE b IS NOT NULL) ORDER BY k;
SELECT to_jsonb(x) FROM unnest(ARRAY[1e300, 'Infinity', 'NaN', -1e-300, 0]::float8[]) x;
SELECT to_jsonb(1e30::numeric), to_jsonb(-0.50), to_jsonb(1.5::real), to_jsonb(ARRAY[3, NULL]);
DO $$ DECLARE j jsonb; h jsonb := '1'; BEGIN RAISE NOTICE '% % %', j = h, j, h -> 0; IF j = h THEN RAISE NOTICE 'same'; END IF; END $$;
