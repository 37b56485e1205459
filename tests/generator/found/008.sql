-- symptom: FULL JOIN USING (k) then LEFT JOIN USING (k): the merged column is not used for the next join
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE e (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE VIEW v AS SELECT * FROM q UNION ALL SELECT * FROM e;
INSERT INTO e VALUES (2, 1, 0.00, 'B', true);
CREATE FUNCTION a16() RETURNS TABLE (d0 text, d1 numeric, d2 numeric) LANGUAGE plpgsql AS $$ DECLARE item record; BEGIN FOR item IN SELECT 'a'::text AS c0, t3.x AS c1, 1 AS c2 FROM q t1 FULL JOIN v t2 USING (k) LEFT JOIN e t3 USING (k) LOOP d0 := item.c0; d1 := item.c1; d2 := item.c2; RETURN NEXT; END LOOP; END $$;
SELECT * FROM a16();
