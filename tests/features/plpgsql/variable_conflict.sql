CREATE TABLE users (id integer PRIMARY KEY, comment text, last_modified date);
INSERT INTO users VALUES (1, 'old', NULL);
CREATE FUNCTION stamp_user(id int, comment text) RETURNS void AS $$
    #variable_conflict use_variable
    DECLARE
        curtime date := date '2024-01-02';
    BEGIN
        UPDATE users SET last_modified = curtime, comment = comment
          WHERE users.id = id;
    END;
$$ LANGUAGE plpgsql;
SELECT stamp_user(1, 'new');
SELECT * FROM users;
CREATE FUNCTION bad(id int) RETURNS text AS $$ DECLARE v text; BEGIN SELECT comment INTO v FROM users WHERE users.id = id; RETURN v; END $$ LANGUAGE plpgsql;
SELECT bad(1);
CREATE FUNCTION col(id int) RETURNS text AS $$
#variable_conflict use_column
DECLARE v text; BEGIN SELECT comment INTO v FROM users WHERE id = 1; RETURN v; END $$ LANGUAGE plpgsql;
SELECT col(7);
CREATE FUNCTION qualified(id int) RETURNS text AS $$ DECLARE v text; BEGIN SELECT u.comment INTO v FROM users u WHERE u.id = qualified.id; RETURN v; END $$ LANGUAGE plpgsql;
SELECT qualified(1);
