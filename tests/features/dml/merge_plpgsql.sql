CREATE TABLE counts (word text PRIMARY KEY, n integer);
CREATE FUNCTION count_words(line text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE touched integer; BEGIN
  MERGE INTO counts AS c USING (SELECT w, count(*) AS k FROM regexp_split_to_table(line, ' ') AS w GROUP BY w) AS x ON c.word = x.w
  WHEN MATCHED THEN UPDATE SET n = c.n + x.k
  WHEN NOT MATCHED THEN INSERT VALUES (x.w, x.k);
  GET DIAGNOSTICS touched = ROW_COUNT;
  RETURN touched;
END $$;
SELECT count_words('a b a c');
SELECT count_words('b d b');
SELECT * FROM counts ORDER BY word;
DO $$ BEGIN
  FOR i IN 1..3 LOOP
    MERGE INTO counts USING (SELECT 'a' AS word) AS x ON counts.word = x.word AND counts.n < 4 WHEN MATCHED THEN UPDATE SET n = counts.n + i;
    RAISE NOTICE '%', FOUND;
  END LOOP;
END $$;
SELECT * FROM counts WHERE word = 'a';
DO $$ BEGIN
  MERGE INTO counts USING (VALUES ('a'), ('a')) AS x (word) ON counts.word = x.word WHEN MATCHED THEN DELETE;
EXCEPTION WHEN cardinality_violation THEN RAISE NOTICE 'twice: %', SQLERRM; END $$;
SELECT count(*) FROM counts;
