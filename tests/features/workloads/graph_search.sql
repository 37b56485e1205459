CREATE TABLE edge (a integer, b integer, cost integer NOT NULL, PRIMARY KEY (a, b));
INSERT INTO edge VALUES (1, 2, 7), (1, 3, 9), (1, 6, 14), (2, 3, 10), (2, 4, 15), (3, 4, 11), (3, 6, 2), (4, 5, 6), (6, 5, 9), (7, 8, 1);
CREATE TABLE distance (node integer PRIMARY KEY, cost integer NOT NULL, via integer, done boolean NOT NULL DEFAULT false);
CREATE FUNCTION shortest(p_from integer, p_to integer, OUT cost integer, OUT path integer[]) LANGUAGE plpgsql AS $$
DECLARE
  u distance%ROWTYPE;
  e record;
  n integer;
BEGIN
  DELETE FROM distance;
  INSERT INTO distance (node, cost) VALUES (p_from, 0);
  LOOP
    SELECT * INTO u FROM distance d WHERE NOT done ORDER BY d.cost, node LIMIT 1;
    EXIT WHEN NOT FOUND OR u.node = p_to;
    UPDATE distance SET done = true WHERE node = u.node;
    FOR e IN SELECT b AS node, x.cost FROM edge x WHERE a = u.node UNION ALL SELECT a, x.cost FROM edge x WHERE b = u.node ORDER BY 1 LOOP
      UPDATE distance d SET cost = u.cost + e.cost, via = u.node WHERE d.node = e.node AND d.cost > u.cost + e.cost;
      IF NOT FOUND AND NOT EXISTS (SELECT 1 FROM distance d WHERE d.node = e.node) THEN
        INSERT INTO distance VALUES (e.node, u.cost + e.cost, u.node);
      END IF;
    END LOOP;
  END LOOP;
  SELECT d.cost INTO cost FROM distance d WHERE d.node = p_to;
  IF NOT FOUND THEN RETURN; END IF;
  n := p_to;
  WHILE n IS NOT NULL LOOP
    path := n || path;
    SELECT via INTO n FROM distance WHERE node = n;
  END LOOP;
END $$;
SELECT * FROM shortest(1, 5);
SELECT (shortest(1, 8)).*;
SELECT p.cost, p.path, array_length(p.path, 1) FROM shortest(5, 2) p;
SELECT t, (SELECT cost FROM shortest(1, t)) FROM generate_series(1, 8) g(t) ORDER BY t;
CREATE FUNCTION components() RETURNS TABLE (root integer, nodes integer[]) LANGUAGE plpgsql AS $$
DECLARE changed integer;
BEGIN
  DELETE FROM distance;
  INSERT INTO distance (node, cost) SELECT DISTINCT n, n FROM (SELECT a FROM edge UNION SELECT b FROM edge) AS all_nodes(n);
  LOOP
    UPDATE distance d SET cost = m.least_cost FROM (SELECT x.node, min(y.cost) AS least_cost FROM distance x JOIN edge e ON x.node IN (e.a, e.b) JOIN distance y ON y.node IN (e.a, e.b) GROUP BY x.node) m
      WHERE m.node = d.node AND m.least_cost < d.cost;
    GET DIAGNOSTICS changed = ROW_COUNT;
    EXIT WHEN changed = 0;
  END LOOP;
  RETURN QUERY SELECT cost, array_agg(node ORDER BY node) FROM distance GROUP BY cost ORDER BY cost;
END $$;
SELECT * FROM components();
WITH RECURSIVE walk(node, path, total) AS (SELECT 1, ARRAY[1], 0 UNION ALL SELECT e.b, w.path || e.b, w.total + e.cost FROM walk w JOIN edge e ON e.a = w.node WHERE NOT e.b = ANY (w.path)) SELECT path, total FROM walk WHERE node = 5 ORDER BY total, path;
