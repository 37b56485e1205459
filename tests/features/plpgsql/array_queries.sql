CREATE TABLE t (id integer PRIMARY KEY, g text);
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'a');
DO $$ DECLARE ids integer[]; part integer[]; x integer; BEGIN
  ids := ARRAY(SELECT id FROM t ORDER BY id DESC);
  RAISE NOTICE 'ids %', ids;
  part := ids[2:3];
  RAISE NOTICE 'part % of %', part, array_length(ids, 1);
  FOREACH x IN ARRAY ids[:2] LOOP RAISE NOTICE 'x %', x; END LOOP;
  IF 3 = ANY (SELECT id FROM t WHERE g = 'a') THEN RAISE NOTICE 'found'; END IF;
  SELECT ARRAY(SELECT g FROM t AS u WHERE u.id <= t.id ORDER BY id) INTO ids FROM t WHERE id = 2;
EXCEPTION WHEN invalid_text_representation THEN RAISE NOTICE 'cannot: %', SQLSTATE; END $$;
CREATE FUNCTION pick(ids integer[]) RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY(SELECT g || id FROM t WHERE id = ANY (ids) ORDER BY id) $$;
SELECT pick('{3,1}'), pick('{}'), pick(NULL);
