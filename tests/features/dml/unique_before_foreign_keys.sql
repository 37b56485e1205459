-- A row that breaks a unique key and a foreign key: the unique key is told of.
CREATE TABLE p (id integer PRIMARY KEY);
CREATE TABLE c (id integer PRIMARY KEY, v integer UNIQUE, p integer REFERENCES p);
INSERT INTO p VALUES (1);
INSERT INTO c VALUES (1, 10, 1), (6, 60, NULL);
UPDATE c SET id = 1, p = 16 WHERE id = 6;
UPDATE c SET v = 10, p = 16 WHERE id > 5;
UPDATE c SET p = 16 WHERE id = 6;
INSERT INTO c VALUES (1, 20, 16);
INSERT INTO c VALUES (6, 70, 1) ON CONFLICT (id) DO UPDATE SET v = 10, p = 16;
UPDATE c SET id = 7, p = 1 WHERE id = 6;
SELECT * FROM c ORDER BY id;
