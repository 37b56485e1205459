DO $$ DECLARE c CONSTANT integer := 5; BEGIN RAISE NOTICE '%', c; END $$;
DO $$ DECLARE c CONSTANT integer := 5; BEGIN c := 6; END $$;
DO $$ DECLARE n integer NOT NULL := 1; BEGIN n := 2; RAISE NOTICE '%', n; END $$;
DO $$ DECLARE n integer NOT NULL; BEGIN NULL; END $$;
DO $$ DECLARE a integer DEFAULT 3; b integer = a + 1; c integer := b * 2; BEGIN RAISE NOTICE '% % %', a, b, c; END $$;
DO $$ DECLARE t timestamp := timestamp '2024-02-29 10:00'; d date := t; BEGIN RAISE NOTICE '%', d; END $$;
DO $$ DECLARE v varchar(3) := 'abc'; BEGIN v := 'abcd'; END $$;
DO $$ DECLARE n numeric(5,2) := 1.005; BEGIN RAISE NOTICE '%', n; n := 1000; END $$;
