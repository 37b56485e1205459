CREATE TABLE part (id integer PRIMARY KEY, name text NOT NULL, cost numeric(10, 2), stock integer NOT NULL DEFAULT 0 CHECK (stock >= 0));
CREATE TABLE uses (whole integer REFERENCES part ON DELETE CASCADE, piece integer REFERENCES part ON DELETE RESTRICT, n integer NOT NULL CHECK (n > 0), PRIMARY KEY (whole, piece));
CREATE INDEX uses_piece ON uses (piece);
INSERT INTO part VALUES (1, 'bicycle', NULL, 0), (2, 'wheel', NULL, 1), (3, 'frame', 80, 2), (4, 'rim', 20, 10), (5, 'spoke', 0.25, 100), (6, 'bolt', 0.1, 5), (7, 'lamp', 12.5, 0);
INSERT INTO uses VALUES (1, 2, 2), (1, 3, 1), (2, 4, 1), (2, 5, 32), (1, 6, 4), (3, 6, 2);
CREATE FUNCTION no_cycle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.whole = NEW.piece OR EXISTS (WITH RECURSIVE down AS (SELECT piece FROM uses WHERE whole = NEW.piece UNION SELECT u.piece FROM uses u JOIN down d ON u.whole = d.piece) SELECT 1 FROM down WHERE piece = NEW.whole) THEN
    RAISE EXCEPTION 'part % would contain itself', NEW.whole USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER no_cycle BEFORE INSERT OR UPDATE ON uses FOR EACH ROW EXECUTE FUNCTION no_cycle();
INSERT INTO uses VALUES (5, 1, 1);
INSERT INTO uses VALUES (7, 7, 1);
INSERT INTO uses VALUES (1, 7, 0);
INSERT INTO uses VALUES (1, 7, 1) RETURNING *;
CREATE FUNCTION cost_of(p integer) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE c numeric; u uses; total numeric := 0;
BEGIN
  SELECT cost INTO c FROM part WHERE id = p;
  IF c IS NOT NULL THEN RETURN c; END IF;
  FOR u IN SELECT * FROM uses WHERE whole = p ORDER BY piece LOOP total := total + u.n * cost_of(u.piece); END LOOP;
  RETURN total;
END $$;
SELECT id, name, cost_of(id) FROM part ORDER BY id;
WITH RECURSIVE need (piece, n) AS (SELECT piece, n FROM uses WHERE whole = 1 UNION ALL SELECT u.piece, u.n * need.n FROM uses u JOIN need ON u.whole = need.piece) SELECT p.name, sum(n) AS needed, p.stock, greatest(sum(n) - p.stock, 0) AS missing FROM need JOIN part p ON p.id = need.piece GROUP BY p.id, p.name, p.stock ORDER BY p.id;
CREATE PROCEDURE build(p integer, k integer, INOUT made integer DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE u record;
BEGIN
  FOR i IN 1..k LOOP
    BEGIN
      FOR u IN SELECT piece, n FROM uses WHERE whole = p ORDER BY piece LOOP
        UPDATE part SET stock = stock - u.n WHERE id = u.piece;
      END LOOP;
      UPDATE part SET stock = stock + 1 WHERE id = p;
      made := made + 1;
    EXCEPTION WHEN check_violation THEN
      RAISE NOTICE 'stopped after % of %', made, k;
      EXIT;
    END;
  END LOOP;
END $$;
CALL build(2, 5);
CALL build(1, 1);
UPDATE part SET stock = 10 WHERE id IN (6, 7);
CALL build(1, 3);
CALL build(6, 2);
SELECT id, name, stock FROM part ORDER BY id;
DELETE FROM part WHERE id = 5;
DELETE FROM part WHERE id = 1;
SELECT whole, count(*), sum(n) FROM uses GROUP BY whole ORDER BY whole;
UPDATE uses SET piece = 2 WHERE whole = 2 AND piece = 4;
