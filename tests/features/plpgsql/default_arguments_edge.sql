CREATE FUNCTION d(a integer DEFAULT 1, b integer DEFAULT 2) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN a * 10 + b; END $$;
SELECT d(), d(5), d(5, 6), d(b => 9), d(b := 1, a := 2);
CREATE FUNCTION bad(a integer DEFAULT 1, b integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
CREATE FUNCTION e(a text DEFAULT upper('x') || 'y', b date DEFAULT date '2024-01-01' + 1) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN a || b; END $$;
SELECT e(), e('q');
SELECT d(c => 1);
SELECT d(1, a => 2);
