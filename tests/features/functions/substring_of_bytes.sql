SELECT substring('\x92eb5ffe'::bytea FROM 1 FOR 2), substr('\xff01ff'::bytea, 1, 2), substring('\x00ff01'::bytea FROM 1 FOR 1);
CREATE TABLE s (b bytea, t text);
INSERT INTO s VALUES ('\xc3a9c3a9', 'éé'), ('\x8081', 'a'), ('\x', ''), (NULL, NULL);
SELECT substring(b FROM 1 FOR 2), substr(b, 1, 0), substring(t FROM 1 FOR 1), left(t, 1) FROM s ORDER BY b;
SELECT substr(b, 1, -1) FROM s WHERE t = 'a';
