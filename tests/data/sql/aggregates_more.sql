-- Hypothetical sets, several percentiles, grouping sets with expressions, WITH TIES.
CREATE TABLE w (id integer PRIMARY KEY, grp text, v integer, b boolean, n numeric(10,2), nn numeric, f double precision, r real, d date, ts timestamp, c char(3));

INSERT INTO w SELECT i, 'g' || i % 3, nullif(i * 7 % 11, 4), i % 2 = 0, i / 4.0, i / 3.0, i / 8.0, i, date '2024-01-01' + i, timestamp '2024-01-01' + i * interval '7 hours', 'c' || i % 4 FROM generate_series(1, 20) s(i);

SELECT rank(5) WITHIN GROUP (ORDER BY v), dense_rank(5) WITHIN GROUP (ORDER BY v), percent_rank(5) WITHIN GROUP (ORDER BY v), cume_dist(5) WITHIN GROUP (ORDER BY v) FROM w;

SELECT grp, rank(5, 'g1') WITHIN GROUP (ORDER BY v DESC, grp) FROM w GROUP BY grp ORDER BY grp;

SELECT rank(NULL) WITHIN GROUP (ORDER BY v NULLS FIRST) FROM w;

SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY v) FROM w;

SELECT percentile_disc(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY grp) FROM w;

SELECT grp, percentile_disc(0.5) WITHIN GROUP (ORDER BY v) FILTER (WHERE id > 3) FROM w GROUP BY grp ORDER BY 1;

SELECT mode() WITHIN GROUP (ORDER BY c DESC), mode() WITHIN GROUP (ORDER BY d) FROM w;

SELECT max(ARRAY[id, v]), min(ARRAY[id]) FROM w;

SELECT string_agg(grp, NULL), string_agg(NULL::text, ',') FROM w;

SELECT count(DISTINCT (v, grp)) FROM w;

SELECT sum(DISTINCT f), avg(DISTINCT n), count(DISTINCT c), array_agg(DISTINCT c ORDER BY c DESC) FROM w;

SELECT sum(f ORDER BY f DESC), array_agg(id ORDER BY v NULLS FIRST, id DESC) FROM w;

SELECT string_agg(DISTINCT grp, ',' ORDER BY grp) FROM w;

SELECT string_agg(grp, ',' ORDER BY v, id) FILTER (WHERE b) FROM w;

SELECT avg(r), sum(r), avg(d - date '2024-01-01'), min(b::int) FROM w;

SELECT bit_and(v), bit_or(v), bit_xor(v), bool_and(b), every(b), bool_or(b) FROM w;

SELECT min(c), max(c), min(ts), max(d), min(nn), max(r), max(f) FROM w;

SELECT sum(ts - timestamp '2024-01-01'), avg(ts - timestamp '2024-01-01'), max(ts - timestamp '2024-01-01') FROM w;

SELECT corr(v, f), covar_pop(v, f), covar_samp(v, f), regr_avgx(v, f), regr_avgy(v, f), regr_count(v, f), regr_intercept(v, f), regr_r2(v, f), regr_slope(v, f), regr_sxx(v, f), regr_sxy(v, f), regr_syy(v, f) FROM w;

SELECT grouping(grp) FROM w GROUP BY grp LIMIT 1;

SELECT grp, v % 2, count(*), grouping(grp, v % 2) FROM w GROUP BY GROUPING SETS ((grp), (v % 2), ()) ORDER BY 1, 2, 3;

SELECT grp, b, sum(v) FROM w GROUP BY CUBE (grp, b) HAVING sum(v) > 10 ORDER BY 1, 2;

SELECT grp, b, v, count(*) FROM w GROUP BY ROLLUP (grp, (b, v)) ORDER BY 1, 2, 3, 4;

SELECT grp, b, count(*) FROM w GROUP BY grp, ROLLUP (b) ORDER BY 1, 2;

SELECT upper(grp) AS u, extract(month FROM d) m, count(*) FROM w GROUP BY GROUPING SETS ((upper(grp), extract(month FROM d)), (upper(grp))) ORDER BY 1, 2;

SELECT (SELECT sum(v) FROM w x WHERE x.grp = w.grp) s, count(*) FROM w GROUP BY 1 ORDER BY 1;

SELECT (SELECT count(w.id) FROM generate_series(1, 2) g(x)) FROM w;

SELECT grp FROM w GROUP BY grp HAVING count(*) > (SELECT avg(c) FROM (SELECT count(*) c FROM w GROUP BY grp) q) ORDER BY 1;

SELECT count(*) FROM w GROUP BY ();

SELECT DISTINCT ON (grp, b) grp, b, id FROM w ORDER BY grp, b, id DESC;

SELECT sum(v) AS s FROM w ORDER BY s;

SELECT grp g, count(*) FROM w GROUP BY g ORDER BY count(*) DESC, g;

SELECT count(*) c FROM w HAVING count(*) > 100;

SELECT avg(v)::text, sum(n)::text, sum(v::bigint) FROM w;

SELECT v, v + 1 FROM w GROUP BY v + 1 ORDER BY 1;

SELECT v FROM w GROUP BY v ORDER BY v FETCH FIRST 3 ROWS WITH TIES;

SELECT grp FROM w ORDER BY grp FETCH FIRST 2 ROWS WITH TIES;

SELECT id FROM w ORDER BY id OFFSET 2 ROWS FETCH NEXT ROW ONLY;

SELECT rank(1, 2) WITHIN GROUP (ORDER BY v) FROM w

SELECT rank('g1') WITHIN GROUP (ORDER BY v) FROM w

SELECT rank(3) WITHIN GROUP (ORDER BY v), dense_rank(3) WITHIN GROUP (ORDER BY v), percent_rank(3) WITHIN GROUP (ORDER BY v), cume_dist(3) WITHIN GROUP (ORDER BY v) FROM w WHERE false

SELECT rank(3) WITHIN GROUP (ORDER BY v) OVER () FROM w

SELECT grp, cume_dist(3.5) WITHIN GROUP (ORDER BY v DESC NULLS LAST) FILTER (WHERE id > 2) FROM w GROUP BY grp ORDER BY grp

SELECT percentile_cont('{0.1,NULL,1}'::float8[]) WITHIN GROUP (ORDER BY n), percentile_disc(ARRAY[0.5]) WITHIN GROUP (ORDER BY c) FROM w

SELECT percentile_cont(ARRAY[0.5, 2]) WITHIN GROUP (ORDER BY n) FROM w

SELECT v FROM w ORDER BY v DESC NULLS LAST OFFSET 1 FETCH FIRST 3 ROWS WITH TIES

SELECT grp, count(*) FROM w GROUP BY grp ORDER BY count(*) FETCH FIRST 1 ROW WITH TIES
