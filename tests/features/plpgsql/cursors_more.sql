CREATE TABLE t (id integer PRIMARY KEY, v integer);
INSERT INTO t SELECT g, g * g FROM generate_series(1, 6) AS g;
DO $$ DECLARE c CURSOR (low integer) FOR SELECT id, v FROM t WHERE id > low ORDER BY id; r record; n integer := 0; BEGIN
  OPEN c(2); FETCH c INTO r; RAISE NOTICE 'first %', r.id; MOVE c; FETCH c INTO r; RAISE NOTICE 'third %', r.id;
  LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; n := n + r.v; END LOOP; CLOSE c; RAISE NOTICE 'sum %', n;
  FOR r IN c(4) LOOP RAISE NOTICE 'for % %', r.id, r.v; END LOOP;
END $$;
DO $$ DECLARE c refcursor; x integer; BEGIN OPEN c SCROLL FOR SELECT id FROM t ORDER BY id; FETCH LAST FROM c INTO x; RAISE NOTICE 'last %', x; FETCH PRIOR FROM c INTO x; RAISE NOTICE 'prior %', x; FETCH FIRST FROM c INTO x; RAISE NOTICE 'first %', x; FETCH ABSOLUTE 3 FROM c INTO x; RAISE NOTICE 'third %', x; CLOSE c; END $$;
DO $$ DECLARE c refcursor; BEGIN FETCH c INTO c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT 1; BEGIN OPEN c; OPEN c; END $$;
