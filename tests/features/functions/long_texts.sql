-- Texts that are built from many parts, with other memory taken between the parts.
SELECT length(string_agg(md5(g::text), '')) FROM generate_series(1, 10000) AS g;
SELECT g % 3 AS k, length(string_agg(md5(g::text), ',')) AS n, md5(string_agg(md5(g::text), ',' ORDER BY g)) AS m FROM generate_series(1, 3000) AS g GROUP BY 1 ORDER BY 1;
SELECT g, string_agg(g::text, ',') OVER (ORDER BY g) AS a, string_agg(upper(g::text), '-') OVER (ORDER BY g ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS b FROM generate_series(1, 12) AS g ORDER BY g;
SELECT string_agg(x, y) AS s FROM (VALUES ('a', ','), (NULL, ';'), ('', NULL), ('b', '+')) AS v(x, y);
SELECT string_agg('', '') IS NULL AS empty, string_agg(NULL, 'x') IS NULL AS none;
DO $$ DECLARE s text := ''; BEGIN FOR i IN 1 .. 5000 LOOP s := s || md5(i::text); END LOOP; RAISE NOTICE '% %', length(s), md5(s); END $$;
DO $$ DECLARE s text := 'x'; t text; u text; BEGIN FOR i IN 1 .. 10 LOOP t := s || 'a' || i::text; u := s || 'b'; s := t; RAISE NOTICE '% % %', s, t, u; END LOOP; END $$;
