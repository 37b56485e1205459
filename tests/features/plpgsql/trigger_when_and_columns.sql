CREATE TABLE acc (id integer PRIMARY KEY, balance integer, note text);
CREATE TABLE log (id integer, was integer, now_is integer);
CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO log VALUES (OLD.id, OLD.balance, NEW.balance); RETURN NEW; END $$;
CREATE TRIGGER changed AFTER UPDATE OF balance ON acc FOR EACH ROW WHEN (OLD.balance IS DISTINCT FROM NEW.balance) EXECUTE FUNCTION log_it();
INSERT INTO acc VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');
UPDATE acc SET balance = balance + 1 WHERE id < 3;
UPDATE acc SET balance = balance WHERE id = 3;
UPDATE acc SET note = 'z';
SELECT * FROM log ORDER BY id;
CREATE TRIGGER whole AFTER UPDATE ON acc FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION log_it();
UPDATE acc SET note = 'z' WHERE id = 3;
UPDATE acc SET note = 'y' WHERE id = 3;
SELECT * FROM log ORDER BY id, was;
