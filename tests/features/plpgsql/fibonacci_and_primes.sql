CREATE OR REPLACE FUNCTION fibonacci (n INTEGER) RETURNS INTEGER AS $$
DECLARE
   counter INTEGER := 0 ;
   i INTEGER := 0 ;
   j INTEGER := 1 ;
BEGIN
   IF (n < 1) THEN RETURN 0 ; END IF;
   LOOP
      EXIT WHEN counter = n ;
      counter := counter + 1 ;
      SELECT j, i + j INTO i, j ;
   END LOOP ;
   RETURN i ;
END ;
$$ LANGUAGE plpgsql;
SELECT n, fibonacci(n) FROM generate_series(0, 20, 5) AS g(n) ORDER BY n;
CREATE FUNCTION primes(up_to integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$
DECLARE p boolean;
BEGIN
  FOR i IN 2..up_to LOOP
    p := true;
    FOR j IN 2..floor(sqrt(i))::integer LOOP
      IF i % j = 0 THEN p := false; EXIT; END IF;
    END LOOP;
    IF p THEN RETURN NEXT i; END IF;
  END LOOP;
END $$;
SELECT string_agg(p::text, ',' ORDER BY p) FROM primes(40) AS p;
CREATE FUNCTION gcd_of(a integer, b integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN WHILE b <> 0 LOOP SELECT b, a % b INTO a, b; END LOOP; RETURN a; END $$;
SELECT gcd_of(12, 18), gcd_of(17, 5);
