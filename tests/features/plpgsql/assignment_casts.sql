DO $$ DECLARE i integer; n numeric(6,2); t text; d date; b boolean; s smallint; f double precision; v varchar(5); BEGIN
  i := 3.7; RAISE NOTICE '%', i;
  i := '42'; RAISE NOTICE '%', i;
  n := 1.005; RAISE NOTICE '%', n;
  t := 12.50; RAISE NOTICE '%', t;
  d := '2024-02-29'; RAISE NOTICE '%', d;
  d := timestamp '2024-03-01 12:00'; RAISE NOTICE '%', d;
  b := 'yes'; RAISE NOTICE '%', b;
  s := 7::bigint; RAISE NOTICE '%', s;
  f := 1; RAISE NOTICE '%', f / 4;
  v := 12345; RAISE NOTICE '%', v;
  t := d; RAISE NOTICE '%', t;
END $$;
DO $$ DECLARE s smallint; BEGIN s := 70000; END $$;
DO $$ DECLARE d date; BEGIN d := 'not a date'; END $$;
DO $$ DECLARE v varchar(3); BEGIN v := 12345; END $$;
DO $$ DECLARE n numeric(3,1); BEGIN n := 123.4; END $$;
