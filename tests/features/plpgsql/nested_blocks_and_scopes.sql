CREATE FUNCTION f(x integer) RETURNS text LANGUAGE plpgsql AS $$
<<outside>>
DECLARE
  x integer := 100;
  t text := 'o';
BEGIN
  DECLARE
    x integer := 200;
    t text := outside.t || 'i';
  BEGIN
    RETURN x || ',' || outside.x || ',' || f.x || ',' || t || ',' || outside.t;
  END;
END $$;
SELECT f(5);
CREATE FUNCTION g() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE a integer := 1; b integer := a + 1; c CONSTANT integer := b * 10;
BEGIN
  a := c + b;
  BEGIN
    a := a + 1;
    DECLARE a integer; BEGIN a := 99; END;
  END;
  RETURN a;
END $$;
SELECT g();
CREATE FUNCTION h() RETURNS integer LANGUAGE plpgsql AS $$ DECLARE c CONSTANT integer := 1; BEGIN c := 2; RETURN c; END $$;
CREATE FUNCTION h() RETURNS integer LANGUAGE plpgsql AS $$ DECLARE a integer; a text; BEGIN RETURN 1; END $$;
CREATE FUNCTION l(n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text := '';
BEGIN
  <<rows>> FOR i IN 1..n LOOP
    FOR j IN 1..n LOOP
      CONTINUE rows WHEN j > i;
      EXIT rows WHEN i + j > 6;
      r := r || i || j || ' ';
    END LOOP;
  END LOOP;
  RETURN r;
END $$;
SELECT l(3), l(5);
