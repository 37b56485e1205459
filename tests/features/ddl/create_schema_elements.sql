-- The elements of CREATE SCHEMA see each other by their bare names, and are made in PostgreSQL's order.
CREATE TABLE t (other int);
CREATE SCHEMA s
  CREATE VIEW v AS SELECT id, name FROM t
  CREATE INDEX t_name ON t (name)
  CREATE TABLE u (id int DEFAULT nextval('s.q'), t_id int REFERENCES t)
  CREATE TABLE t (id int PRIMARY KEY, name text)
  CREATE SEQUENCE q;
CREATE SCHEMA s
  CREATE SEQUENCE q
  CREATE TABLE t (id int PRIMARY KEY, name text)
  CREATE TABLE u (id int DEFAULT nextval('s.q'), t_id int REFERENCES t)
  CREATE INDEX t_name ON t (name)
  CREATE VIEW v AS SELECT id, name FROM t;
INSERT INTO s.t VALUES (1, 'one');
INSERT INTO s.u (t_id) VALUES (1) RETURNING *;
INSERT INTO s.u (t_id) VALUES (2);
SELECT * FROM s.v;
SELECT schemaname, tablename, indexname FROM pg_indexes WHERE indexname = 't_name';
CREATE SCHEMA s2
  CREATE VIEW w AS SELECT other FROM t
  CREATE VIEW x AS SELECT other FROM w;
INSERT INTO t VALUES (7);
SELECT * FROM s2.x;
CREATE SCHEMA s3 CREATE TABLE public.p (a int);
CREATE SCHEMA s3 CREATE TABLE s3.p (a int);
SELECT * FROM s3.p;
CREATE SCHEMA s4 CREATE INDEX i ON t (other);
CREATE SCHEMA s5 CREATE VIEW v AS SELECT * FROM missing;
SET search_path = s;
CREATE SCHEMA s6 CREATE TABLE a (id int REFERENCES t) CREATE VIEW b AS SELECT a.id, t.name FROM a JOIN t USING (id);
INSERT INTO s6.a VALUES (1);
SELECT * FROM s6.b;
