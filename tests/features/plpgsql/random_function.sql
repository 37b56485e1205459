SELECT random() >= 0 AND random() < 1 AS inside;
CREATE OR REPLACE FUNCTION DBMS_RANDOM (INTEGER, INTEGER) RETURNS INTEGER AS $$
DECLARE
    start_int ALIAS FOR $1;
    end_int ALIAS FOR $2;
BEGIN
    RETURN trunc(random() * (end_int-start_int + 1) + start_int);
END;
$$ LANGUAGE 'plpgsql' STRICT;
SELECT bool_and(DBMS_RANDOM(1, 6) BETWEEN 1 AND 6) FROM generate_series(1, 100) AS g;
SELECT count(DISTINCT random()) > 90 AS differ FROM generate_series(1, 100) AS g;
SELECT dbms_random(NULL, 1);
