CREATE TABLE account (id integer PRIMARY KEY, owner text, balance numeric(12,2));
INSERT INTO account VALUES (1, 'ann', 10), (2, 'bob', 20), (3, 'cat', 30);
CREATE FUNCTION rich(at_least numeric) RETURNS SETOF account LANGUAGE plpgsql AS $$
DECLARE r account%ROWTYPE;
BEGIN
  FOR r IN SELECT * FROM account WHERE balance >= at_least ORDER BY id LOOP
    r.owner := upper(r.owner);
    RETURN NEXT r;
  END LOOP;
END $$;
SELECT * FROM rich(15) ORDER BY id;
SELECT owner FROM rich(0) ORDER BY owner DESC;
CREATE FUNCTION all_accounts() RETURNS SETOF account AS $$ BEGIN RETURN QUERY SELECT * FROM account; END $$ LANGUAGE plpgsql;
SELECT id, balance FROM all_accounts() ORDER BY id;
