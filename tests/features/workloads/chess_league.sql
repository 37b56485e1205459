CREATE TABLE player (id integer PRIMARY KEY, name text UNIQUE NOT NULL, elo numeric(6, 1) NOT NULL DEFAULT 1500);
CREATE TABLE game (round integer, white integer REFERENCES player, black integer REFERENCES player, result char(1) CHECK (result IN ('w', 'b', 'd')), PRIMARY KEY (round, white), UNIQUE (round, black), CHECK (white <> black));
CREATE TABLE elo_log (id integer GENERATED ALWAYS AS IDENTITY, player integer, was numeric(6, 1), becomes numeric(6, 1));
INSERT INTO player (id, name) VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Cid'), (4, 'Dan');
CREATE FUNCTION log_elo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO elo_log (player, was, becomes) VALUES (NEW.id, OLD.elo, NEW.elo); RETURN NULL; END $$;
CREATE TRIGGER log_elo AFTER UPDATE OF elo ON player FOR EACH ROW WHEN (OLD.elo IS DISTINCT FROM NEW.elo) EXECUTE FUNCTION log_elo();
CREATE FUNCTION expected(a numeric, b numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT round((1 / (1 + 10 ^ ((b - a)::double precision / 400)))::numeric, 4) $$;
CREATE PROCEDURE pair_round(r integer) LANGUAGE plpgsql AS $$
DECLARE p record; n integer; last integer;
BEGIN
  FOR p IN SELECT id, row_number() OVER (ORDER BY elo DESC, id) AS rn FROM player LOOP
    IF p.rn % 2 = 1 THEN last := p.id;
    ELSE INSERT INTO game VALUES (r, last, p.id, NULL);
    END IF;
  END LOOP;
  GET DIAGNOSTICS n = ROW_COUNT;
END $$;
CREATE PROCEDURE finish(r integer, w integer, res char(1)) LANGUAGE plpgsql AS $$
DECLARE g game; we numeric; be numeric; s numeric; d numeric;
BEGIN
  UPDATE game SET result = res WHERE round = r AND white = w AND result IS NULL RETURNING * INTO g;
  IF NOT FOUND THEN RAISE EXCEPTION 'no open game of % in round %', w, r; END IF;
  SELECT elo INTO we FROM player WHERE id = g.white;
  SELECT elo INTO be FROM player WHERE id = g.black;
  s := CASE res WHEN 'w' THEN 1 WHEN 'd' THEN 0.5 ELSE 0 END;
  d := round(32 * (s - expected(we, be)), 1);
  UPDATE player SET elo = elo + CASE id WHEN g.white THEN d ELSE -d END WHERE id IN (g.white, g.black);
END $$;
SELECT expected(1500, 1500), expected(1900, 1500), expected(1500, 1900);
CALL pair_round(1);
SELECT * FROM game ORDER BY round, white;
CALL finish(1, 1, 'w');
CALL finish(1, 3, 'd');
CALL finish(1, 1, 'b');
CALL finish(1, 3, 'x');
CALL pair_round(1);
CALL pair_round(2);
CALL finish(2, 1, 'b');
CALL finish(2, 4, 'x');
CALL finish(2, 3, 'x');
SELECT round, white, black, result FROM game ORDER BY round, white;
SELECT id, name, elo, rank() OVER (ORDER BY elo DESC) FROM player ORDER BY elo DESC, id;
SELECT player, was, becomes, becomes - was AS change FROM elo_log ORDER BY player, id;
SELECT p.name, count(g.result) AS games, sum(CASE WHEN g.result = 'd' THEN 0.5 WHEN (g.result = 'w') = (g.white = p.id) THEN 1 ELSE 0 END) AS points FROM player p LEFT JOIN game g ON p.id IN (g.white, g.black) AND g.result IS NOT NULL GROUP BY p.id, p.name ORDER BY points DESC NULLS LAST, p.name;
DELETE FROM player WHERE id = 1;
