CREATE TABLE contact (id integer PRIMARY KEY, name varchar(40), email varchar(60), phone char(12), tags text[]);
CREATE FUNCTION split_csv(line text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  result text[] := '{}';
  field text := '';
  quoted boolean := false;
  c char;
  i integer := 1;
BEGIN
  WHILE i <= length(line) LOOP
    c := substr(line, i, 1);
    IF quoted THEN
      IF c = '"' AND substr(line, i + 1, 1) = '"' THEN field := field || '"'; i := i + 1;
      ELSIF c = '"' THEN quoted := false;
      ELSE field := field || coalesce(nullif(c, ''), ' ');
      END IF;
    ELSIF c = '"' THEN quoted := true;
    ELSIF c = ',' THEN result := result || field; field := '';
    ELSE field := field || coalesce(nullif(c, ''), ' ');
    END IF;
    i := i + 1;
  END LOOP;
  IF quoted THEN RAISE EXCEPTION 'unterminated quote in %', quote_literal(line) USING ERRCODE = 'invalid_text_representation'; END IF;
  RETURN result || field;
END $$;
SELECT split_csv('a,"b,""c""",,d e');
SELECT split_csv('x,"y');
SELECT split_csv(''), split_csv(NULL), cardinality(split_csv(',,'));
CREATE PROCEDURE import(lines text[], INOUT ok integer DEFAULT 0, INOUT bad text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
  f text[];
  line text;
BEGIN
  FOREACH line IN ARRAY lines LOOP
    BEGIN
      f := split_csv(line);
      INSERT INTO contact VALUES (f[1]::integer, initcap(trim(f[2])), lower(f[3]), f[4], string_to_array(nullif(f[5], ''), ' '));
      ok := ok + 1;
    EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
      bad := bad || SQLSTATE || ': ' || SQLERRM || E'\n';
    END;
  END LOOP;
  bad := rtrim(bad, E'\n');
END $$;
CALL import(ARRAY['1, john SMITH ,John@X.org,5551234,a b', '2,jane,j@y.net,0123456789123,', 'x,y', '3,"o''neil, pat",p@z.io,,"vip new"', '1,dup,d@d.de,1,', ',none,n@n.nn,1,', '4,"open', '5,Größe,ü@ü.de,123456789012,ä']);
SELECT id, name, email, phone || '|', tags, char_length(name), octet_length(name) FROM contact ORDER BY id;
SELECT id, split_part(email, '@', 2), position('@' in email), substring(email from '[^.]+$'), regexp_replace(name, '[aeiou]', '_', 'gi'), reverse(name), md5(email) FROM contact ORDER BY id;
SELECT t, count(*) FROM contact, unnest(tags) AS t GROUP BY t ORDER BY t;
CREATE FUNCTION luhn(digits text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE total integer := 0; d integer;
BEGIN
  IF digits !~ '^[0-9]+$' THEN RETURN NULL; END IF;
  FOR i IN REVERSE length(digits) .. 1 LOOP
    d := substr(digits, i, 1);
    IF (length(digits) - i) % 2 = 1 THEN d := d * 2; IF d > 9 THEN d := d - 9; END IF; END IF;
    total := total + d;
  END LOOP;
  RETURN total % 10 = 0;
END $$;
SELECT d, luhn(d) FROM unnest(ARRAY['4539578763621486', '79927398713', '79927398710', '12a', '']) u(d);
CREATE FUNCTION roman(n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v integer[] := '{1000,900,500,400,100,90,50,40,10,9,5,4,1}';
  s text[] := '{M,CM,D,CD,C,XC,L,XL,X,IX,V,IV,I}';
  out_text text := '';
BEGIN
  ASSERT n BETWEEN 1 AND 3999, format('%s is out of range', n);
  FOR i IN 1 .. 13 LOOP
    WHILE n >= v[i] LOOP out_text := out_text || s[i]; n := n - v[i]; END LOOP;
  END LOOP;
  RETURN out_text;
END $$;
SELECT roman(n), lpad(roman(n), 10, '.') FROM (VALUES (1994), (4), (3999)) x(n);
SELECT roman(0);
