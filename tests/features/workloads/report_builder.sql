CREATE TABLE sale (day date, region text, product text, amount numeric(10,2), units integer);
INSERT INTO sale SELECT date '2024-01-01' + i, (ARRAY['north', 'south', 'east'])[i % 3 + 1], 'p' || i % 4, i * 1.25, i % 7 FROM generate_series(0, 59) g(i);
CREATE FUNCTION totals_by(p_column text, p_from date, p_to date) RETURNS TABLE (label text, total numeric, n bigint) LANGUAGE plpgsql AS $$
BEGIN
  IF p_column NOT IN ('region', 'product') THEN RAISE EXCEPTION 'no report by %', quote_ident(p_column) USING ERRCODE = '42703'; END IF;
  RETURN QUERY EXECUTE format('SELECT %1$I::text, sum(amount), count(*) FROM sale WHERE day BETWEEN $1 AND $2 GROUP BY %1$I ORDER BY 1', p_column) USING p_from, p_to;
END $$;
SELECT * FROM totals_by('region', '2024-01-01', '2024-01-31');
SELECT * FROM totals_by('product', '2024-02-01', '2024-02-29');
SELECT * FROM totals_by('amount"; DROP TABLE sale', '2024-02-01', '2024-02-29');
CREATE FUNCTION count_where(p_condition text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  EXECUTE 'SELECT count(*) FROM sale WHERE ' || p_condition INTO n;
  RETURN n;
END $$;
SELECT count_where('units > 3'), count_where('amount IS NULL');
SELECT count_where('unit > 3');
SELECT count_where('units >');
SELECT count_where(NULL);
CREATE FUNCTION histogram(p_buckets integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  lo numeric; hi numeric; r record;
BEGIN
  SELECT min(amount), max(amount) INTO lo, hi FROM sale;
  FOR r IN SELECT b, count(s.amount) AS n, min(s.amount) AS a, max(s.amount) AS z FROM generate_series(1, p_buckets) g(b)
    LEFT JOIN sale s ON least(width_bucket(s.amount, lo, hi, p_buckets), p_buckets) = b GROUP BY b ORDER BY b
  LOOP
    RETURN NEXT format('%2s [%s, %s] %s', r.b, to_char(r.a, 'FM990.00'), to_char(r.z, 'FM990.00'), repeat('#', r.n::integer));
  END LOOP;
END $$;
SELECT * FROM histogram(5);
SELECT * FROM histogram(1);
CREATE FUNCTION running(p_region text) RETURNS TABLE (day date, total numeric, mean numeric) LANGUAGE sql STABLE AS $$
  SELECT day, sum(amount) OVER w, round(avg(amount) OVER w, 3) FROM sale WHERE region = p_region WINDOW w AS (ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) ORDER BY day LIMIT 6
$$;
SELECT * FROM running('east');
SELECT to_char(day, 'YYYY-MM') AS month, region, sum(amount), grouping(region) FROM sale GROUP BY ROLLUP (to_char(day, 'YYYY-MM'), region) ORDER BY 1, 2;
SELECT region, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount::double precision), mode() WITHIN GROUP (ORDER BY product), array_agg(DISTINCT units ORDER BY units) FROM sale GROUP BY region ORDER BY 1;
