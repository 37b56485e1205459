-- A generated column set to DEFAULT: the row is updated though no cell of it changes.
CREATE TABLE doubled (a integer PRIMARY KEY, b integer GENERATED ALWAYS AS (a * 2) STORED, c text);
INSERT INTO doubled VALUES (1), (2);
UPDATE doubled SET b = DEFAULT WHERE a = 1;
UPDATE doubled SET b = DEFAULT RETURNING *;
UPDATE doubled SET a = 3, b = DEFAULT WHERE a = 2 RETURNING *;
UPDATE doubled SET b = DEFAULT, b = DEFAULT;
UPDATE doubled d SET b = DEFAULT FROM (VALUES (1), (3)) v (x) WHERE d.a = v.x;
INSERT INTO doubled VALUES (1) ON CONFLICT (a) DO UPDATE SET b = DEFAULT;
MERGE INTO doubled USING (VALUES (1)) v (x) ON a = x WHEN MATCHED THEN UPDATE SET b = DEFAULT;
SELECT * FROM doubled ORDER BY a;

-- A trigger changes what the column is computed of: rows, constraints and the log have the new value.
CREATE TABLE kept (a integer PRIMARY KEY, c integer, b integer GENERATED ALWAYS AS (c + 1) STORED CHECK (b < 100));
CREATE FUNCTION raise_c() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.c := NEW.c * 10; RETURN NEW; END $$;
CREATE TRIGGER raise_c BEFORE UPDATE ON kept FOR EACH ROW EXECUTE FUNCTION raise_c();
INSERT INTO kept VALUES (1, 1), (2, 2);
UPDATE kept SET c = 5 WHERE a = 1 RETURNING *;
UPDATE kept SET c = 50 WHERE a = 1;
UPDATE kept SET b = DEFAULT WHERE a = 2;
SELECT * FROM kept ORDER BY a;
INSERT INTO kept VALUES (2) ON CONFLICT (a) DO UPDATE SET c = 3 RETURNING *;
MERGE INTO kept USING (VALUES (2)) v (x) ON a = x WHEN MATCHED THEN UPDATE SET c = 4;
SELECT * FROM kept ORDER BY a;

-- Nothing but the generated column is there to change.
CREATE TABLE alone (b integer GENERATED ALWAYS AS (7) STORED);
INSERT INTO alone DEFAULT VALUES;
UPDATE alone SET b = DEFAULT RETURNING b;
CREATE TRIGGER raise_b BEFORE UPDATE ON alone FOR EACH ROW EXECUTE FUNCTION raise_c();
UPDATE alone SET b = DEFAULT;
SELECT * FROM alone;

-- Foreign keys that set columns to their defaults and to NULL.
CREATE TABLE parent (id integer PRIMARY KEY);
CREATE TABLE child (id integer PRIMARY KEY, p integer DEFAULT 0 REFERENCES parent ON DELETE SET DEFAULT ON UPDATE CASCADE,
  twice integer GENERATED ALWAYS AS (p * 2) STORED, note text);
INSERT INTO parent VALUES (0), (1), (2);
INSERT INTO child VALUES (1, 1, DEFAULT, 'one'), (2, 2, DEFAULT, repeat('two', 100));
DELETE FROM parent WHERE id = 1;
UPDATE parent SET id = 5 WHERE id = 2;
SELECT id, p, twice, length(note) FROM child ORDER BY id;
