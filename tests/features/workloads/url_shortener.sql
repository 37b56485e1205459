CREATE TABLE link (code text PRIMARY KEY, url text NOT NULL, hits bigint NOT NULL DEFAULT 0, made timestamp NOT NULL);
CREATE TABLE hit (code text REFERENCES link ON DELETE CASCADE, day date, n integer NOT NULL, PRIMARY KEY (code, day));
CREATE FUNCTION encode36(n bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE digits CONSTANT text := '0123456789abcdefghijklmnopqrstuvwxyz'; r text := '';
BEGIN
  IF n < 0 THEN RAISE EXCEPTION 'negative' USING ERRCODE = '22023'; END IF;
  LOOP
    r := substr(digits, (n % 36)::integer + 1, 1) || r;
    n := n / 36;
    EXIT WHEN n = 0;
  END LOOP;
  RETURN r;
END $$;
SELECT encode36(0), encode36(35), encode36(36), encode36(123456789), encode36(NULL);
SELECT encode36(-1);
INSERT INTO link (code, url, made) SELECT encode36(i * 1000), 'http://example.org/' || i, '2024-01-01'::timestamp + i * '1 hour'::interval FROM generate_series(1, 5) AS i;
CREATE PROCEDURE visit(c text, d date) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE link SET hits = hits + 1 WHERE code = c;
  INSERT INTO hit VALUES (c, d, 1) ON CONFLICT (code, day) DO UPDATE SET n = hit.n + 1;
END $$;
CALL visit('rs', '2024-02-01');
CALL visit('rs', '2024-02-01');
CALL visit('1jk', '2024-02-02');
CALL visit('zz', '2024-02-02');
SELECT l.code, l.hits, sum(h.n) FROM link l JOIN hit h USING (code) GROUP BY l.code, l.hits ORDER BY 1;
SELECT day, sum(n), rank() OVER (ORDER BY sum(n) DESC) FROM hit GROUP BY day ORDER BY day;
DELETE FROM link WHERE made < '2024-01-01 03:00' RETURNING code;
SELECT count(*) FROM hit;
INSERT INTO link VALUES ('2bc', 'x', 0, '2024-01-01') ON CONFLICT DO NOTHING;
SELECT code, url FROM link ORDER BY code;
