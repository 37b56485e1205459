-- slices count as subscripts do: from the array's lower bound
DO $$ DECLARE a integer[] := '{}'; t text[]; BEGIN
  a[4] := 3; a[5] := 7;
  RAISE NOTICE '% % % % %', a[1:2], a[4:4], a[:4], a[5:], a[:];
  RAISE NOTICE '% % %', a[1:4], a[5:9], a[6:4];
  a[2] := 1;
  RAISE NOTICE '% % %', a[2:4], a[1:1], (a[3:4])[1];
  t[0] := 'zero'; t[1] := 'one';
  RAISE NOTICE '% % % %', t[0:0], t[1:1], t[:0], t[-1:1];
  a := a[4:5]; RAISE NOTICE '% %', a, a[1:1];
END $$;
CREATE TABLE t (id integer PRIMARY KEY, a integer[]);
INSERT INTO t (id, a[3], a[4]) VALUES (1, 30, 40);
SELECT a[1:2], a[3:3], a[:3], a[4:], a[:] FROM t;
