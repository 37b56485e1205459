-- ALTER TYPE inside of a transaction that does more
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE felt (m mood);
INSERT INTO felt VALUES ('ok');
DO $$ BEGIN ALTER TYPE mood ADD VALUE 'happy'; INSERT INTO felt VALUES ('sad'); END $$;
SELECT enum_range(NULL::mood);
INSERT INTO felt VALUES ('happy');
SELECT * FROM felt ORDER BY m;
-- a new value waits for the end of its transaction
DO $$ BEGIN ALTER TYPE mood ADD VALUE 'glad'; INSERT INTO felt VALUES ('glad'); END $$;
DO $$ BEGIN ALTER TYPE mood ADD VALUE 'glad'; RAISE NOTICE '%', enum_last(NULL::mood); END $$;
DO $$ BEGIN ALTER TYPE mood ADD VALUE 'glad' BEFORE 'ok'; RAISE NOTICE '%', enum_range(NULL::mood); END $$;
DO $$ BEGIN ALTER TYPE mood ADD VALUE 'glad' BEFORE 'ok'; RAISE NOTICE '% %', enum_first(NULL::mood), enum_last(NULL::mood); END $$;
SELECT enum_range(NULL::mood);
SELECT enumlabel, enumsortorder FROM pg_enum WHERE enumtypid = 'mood'::regtype ORDER BY enumsortorder;
-- an inner block takes it back
DO $$
BEGIN
  BEGIN
    ALTER TYPE mood RENAME VALUE 'sad' TO 'blue';
    ALTER TYPE mood ADD VALUE 'angry' BEFORE 'blue';
    RAISE EXCEPTION 'no';
  EXCEPTION WHEN raise_exception THEN
    RAISE NOTICE '%', enum_range(NULL::mood);
  END;
END $$;
DO $$ BEGIN ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'; RAISE NOTICE '%', (SELECT string_agg(m::text, ' ' ORDER BY m) FROM felt); RAISE EXCEPTION 'no'; END $$;
SELECT * FROM felt ORDER BY m;
DO $$ BEGIN ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'; RAISE NOTICE '%', 'blue'::mood; END $$;
SELECT * FROM felt ORDER BY m;
-- of a type that is as new: only what CREATE TYPE said
DO $$ BEGIN CREATE TYPE hue AS ENUM ('red'); RAISE NOTICE '%', 'red'::hue; END $$;
DO $$ BEGIN CREATE TYPE shade AS ENUM ('light'); ALTER TYPE shade ADD VALUE 'dark'; RAISE NOTICE '%', 'light'::shade; RAISE NOTICE '%', 'dark'::shade; END $$;
DROP TYPE IF EXISTS shade;
SELECT enum_range(NULL::hue);
-- keys of two enums
CREATE TABLE hues (h hue PRIMARY KEY);
CREATE TABLE odd (m mood REFERENCES hues);
DROP TABLE hues, felt;
DROP TYPE hue, mood;
