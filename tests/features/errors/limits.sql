-- Bounds of statements.
DO $$
BEGIN
  EXECUTE 'SELECT ' || (SELECT string_agg(i::text, ', ') FROM generate_series(1, 1665) i);
END $$;
DO $$
BEGIN
  EXECUTE 'SELECT ' || (SELECT string_agg(i::text, ', ') FROM generate_series(1, 1664) i);
END $$;
