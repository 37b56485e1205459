CREATE TABLE usertable (ycsb_key varchar(32) PRIMARY KEY, field1 text, field2 text, field3 text);
CREATE PROCEDURE fill(n integer) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 0 .. n - 1 LOOP
    INSERT INTO usertable VALUES ('user' || md5(i::text)::varchar(12), repeat(chr(97 + i % 26), 20), i::text, NULL);
  END LOOP;
END $$;
CALL fill(200);
CREATE FUNCTION read_record(k varchar, OUT f1 text, OUT f2 text, OUT f3 text) LANGUAGE plpgsql AS $$
BEGIN
  SELECT field1, field2, field3 INTO f1, f2, f3 FROM usertable WHERE ycsb_key = k;
END $$;
CREATE FUNCTION scan_records(k varchar, n integer) RETURNS TABLE (key varchar, value text) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT ycsb_key, field2 FROM usertable WHERE ycsb_key >= k ORDER BY ycsb_key LIMIT n;
END $$;
CREATE PROCEDURE update_record(k varchar, field integer, v text) LANGUAGE plpgsql AS $$
BEGIN
  CASE field
    WHEN 1 THEN UPDATE usertable SET field1 = v WHERE ycsb_key = k;
    WHEN 2 THEN UPDATE usertable SET field2 = v WHERE ycsb_key = k;
    WHEN 3 THEN UPDATE usertable SET field3 = v WHERE ycsb_key = k;
  END CASE;
END $$;
CREATE PROCEDURE read_modify_write(k varchar, suffix text, INOUT result text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE r usertable%ROWTYPE;
BEGIN
  SELECT * INTO r FROM usertable WHERE ycsb_key = k;
  IF r IS NULL THEN RAISE NOTICE 'no %', k; RETURN; END IF;
  r.field2 := coalesce(r.field2, '') || suffix;
  UPDATE usertable SET (field1, field2) = (upper(r.field1), r.field2) WHERE ycsb_key = r.ycsb_key RETURNING field1 || '/' || field2 INTO result;
END $$;
CREATE PROCEDURE delete_records(keys varchar[], INOUT n bigint DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE k varchar;
BEGIN
  FOREACH k IN ARRAY keys LOOP
    DELETE FROM usertable WHERE ycsb_key = k;
    IF FOUND THEN n := n + 1; END IF;
  END LOOP;
END $$;
SELECT * FROM scan_records('user3', 5);
SELECT * FROM read_record((SELECT ycsb_key FROM usertable WHERE field2 = '17'));
SELECT * FROM read_record('nothing');
CALL update_record('userc4ca4238a0b9', 3, 'three');
CALL update_record('userc4ca4238a0b9', 4, 'four');
CALL read_modify_write('userc4ca4238a0b9', '+x');
CALL read_modify_write('nobody', '+x');
CALL delete_records(ARRAY['userc4ca4238a0b9', 'nobody', NULL]);
CALL delete_records('{}');
SELECT count(*), count(field3), min(ycsb_key), max(length(field1)) FROM usertable;
SELECT * FROM usertable WHERE ycsb_key LIKE 'user0%' ORDER BY 1 LIMIT 3;
