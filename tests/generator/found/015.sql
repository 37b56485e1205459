-- symptom: RETURNING's subquery joins the changed table: sees the statement's own changes
CREATE TABLE p (k integer PRIMARY KEY, x integer, n numeric(8,2), s text, b boolean);
CREATE TABLE q (k integer, x integer, n numeric(8,2), s text, b boolean);
INSERT INTO p VALUES (1, 1, NULL, 'b', true);
INSERT INTO q VALUES (2, 0, 10.10, 'B', false);
UPDATE q SET x = (1)::integer RETURNING q.k, (SELECT count(*) AS c0 FROM q t1 FULL JOIN p t2 ON t1.x = t2.x);
