CREATE TABLE inbox (id serial PRIMARY KEY, k text, v integer);
CREATE TABLE state (k text PRIMARY KEY, v integer, changes integer DEFAULT 1);
INSERT INTO inbox (k, v) VALUES ('a', 1), ('b', 2), ('a', 3), ('c', 4), ('b', 5);
CREATE FUNCTION consume(batch integer) RETURNS TABLE (merged integer, left_over bigint) LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    WITH taken AS (DELETE FROM inbox WHERE id IN (SELECT id FROM inbox ORDER BY id LIMIT batch) RETURNING id, k, v)
    MERGE INTO state AS s USING (SELECT k, sum(v) AS v FROM taken GROUP BY k) AS t ON s.k = t.k
    WHEN MATCHED THEN UPDATE SET v = s.v + t.v, changes = s.changes + 1
    WHEN NOT MATCHED THEN INSERT (k, v) VALUES (t.k, t.v);
    GET DIAGNOSTICS merged = ROW_COUNT;
    EXIT WHEN NOT FOUND;
    SELECT count(*) INTO left_over FROM inbox;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM consume(2);
SELECT * FROM state ORDER BY k;
SELECT * FROM consume(2);
