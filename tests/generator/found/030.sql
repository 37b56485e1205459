-- symptom: lone HAVING over a part of WITH without rows gives no row (as case 108, with a materialized part)
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE r (k integer UNIQUE, x integer, n numeric(8,2), s text, b boolean);
WITH w6 AS MATERIALIZED (SELECT 1 AS c0 FROM q t7, r t9 ORDER BY 1) SELECT 2 AS c0 FROM w6 t10 HAVING true;
SELECT EXISTS (WITH w AS (SELECT x FROM q) SELECT 2 FROM w HAVING true), (WITH w AS MATERIALIZED (SELECT x FROM q) SELECT 2 FROM w WHERE false HAVING true);
