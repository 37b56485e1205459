-- CREATE TYPE ... AS (...): types of parameters, variables and results of routines.
CREATE TYPE money_amount AS (amount numeric(12,2), currency char(3));
CREATE TYPE price_line AS (id integer, label text, price numeric);
CREATE TABLE price (id integer PRIMARY KEY, amount numeric(12,2), currency char(3));
INSERT INTO price VALUES (1, 10, 'EUR'), (2, 20.5, 'USD'), (3, 7, 'EUR');
CREATE FUNCTION make(amount numeric, currency text) RETURNS money_amount LANGUAGE plpgsql AS $$
DECLARE r money_amount;
BEGIN
  r.amount := amount;
  r.currency := currency;
  RETURN r;
END $$;
SELECT * FROM make(1.5, 'EUR');
SELECT (make(2, 'USD')).amount;
CREATE FUNCTION lines(least_amount numeric) RETURNS SETOF price_line LANGUAGE plpgsql AS $$
DECLARE l price_line; p price;
BEGIN
  FOR p IN SELECT * FROM price WHERE price.amount >= least_amount ORDER BY id LOOP
    l.id := p.id;
    l.label := 'price of ' || p.id;
    l.price := p.amount * 2;
    RETURN NEXT l;
  END LOOP;
  RETURN QUERY SELECT 0, 'end'::text, 0::numeric;
END $$;
SELECT * FROM lines(8);
SELECT sum(price) FROM lines(0);
CREATE FUNCTION shown(m money_amount) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN m.amount || ' ' || m.currency; END $$;
SELECT shown(ROW(5, 'EUR')::money_amount);
SELECT shown(make(6, 'CHF'));
CREATE FUNCTION sums() RETURNS SETOF money_amount LANGUAGE sql AS $$ SELECT sum(amount), currency FROM price GROUP BY currency ORDER BY currency $$;
SELECT * FROM sums();
DO $$ DECLARE m money_amount; BEGIN
  SELECT amount, currency INTO m FROM price WHERE id = 2;
  RAISE NOTICE '% %', m.amount, m.currency;
  m := make(9, 'EUR');
  RAISE NOTICE '%', m;
END $$;
-- what they are not
SELECT * FROM price_line;
INSERT INTO price_line VALUES (1, 'x', 2);
CREATE TABLE price_line (a integer);
DROP TABLE price_line;
CREATE TYPE price_line AS (a integer);
DROP TYPE price_line;
DROP FUNCTION lines(numeric);
DROP TYPE price_line;
DROP TYPE price_line;
DROP TYPE IF EXISTS price_line;
SELECT count(*) FROM information_schema.tables WHERE table_name = 'money_amount';
SELECT relkind FROM pg_class WHERE relname = 'money_amount';
