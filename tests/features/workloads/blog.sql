CREATE SCHEMA blog;
CREATE TABLE blog.users (id serial PRIMARY KEY, handle text UNIQUE NOT NULL);
CREATE TABLE blog.posts (id serial PRIMARY KEY, author integer NOT NULL REFERENCES blog.users ON DELETE CASCADE, title text NOT NULL, body text, tags text[] DEFAULT '{}', likes integer DEFAULT 0);
CREATE TABLE blog.comments (id serial PRIMARY KEY, post integer REFERENCES blog.posts ON DELETE CASCADE, author integer REFERENCES blog.users ON DELETE SET NULL, body text CHECK (length(body) > 0));
CREATE INDEX ON blog.posts (author);
CREATE VIEW blog.feed AS SELECT p.id, u.handle, p.title, (SELECT count(*) FROM blog.comments AS c WHERE c.post = p.id) AS comments FROM blog.posts AS p JOIN blog.users AS u ON u.id = p.author;
CREATE FUNCTION blog.post(who text, t text, b text, VARIADIC tg text[]) RETURNS integer LANGUAGE plpgsql AS $$ DECLARE u integer; p integer; BEGIN
  INSERT INTO blog.users (handle) VALUES (who) ON CONFLICT (handle) DO NOTHING; SELECT id INTO u FROM blog.users WHERE handle = who;
  INSERT INTO blog.posts (author, title, body, tags) VALUES (u, t, b, tg) RETURNING id INTO p; RETURN p; END $$;
SELECT blog.post('ann', 'Hello', 'first', 'intro', 'misc'), blog.post('bob', 'SQL', 'second', 'sql'), blog.post('ann', 'More', NULL, 'sql', 'intro');
INSERT INTO blog.comments (post, author, body) VALUES (1, 2, 'nice'), (1, 1, 'thanks'), (2, 1, 'hm');
INSERT INTO blog.comments (post, author, body) VALUES (1, 2, '');
SELECT * FROM blog.feed ORDER BY id;
SELECT tag, count(*) FROM blog.posts, unnest(tags) AS tag GROUP BY tag ORDER BY 2 DESC, 1;
WITH liked AS (UPDATE blog.posts SET likes = likes + 1 WHERE 'sql' = ANY (tags) RETURNING id, likes) SELECT * FROM liked ORDER BY id;
DELETE FROM blog.users WHERE handle = 'bob';
SELECT post, author, body FROM blog.comments ORDER BY id;
SELECT count(*) FROM blog.posts;
DROP SCHEMA blog CASCADE;
