CREATE TABLE course (id integer PRIMARY KEY, title text NOT NULL, seats integer NOT NULL CHECK (seats >= 0));
CREATE TABLE student (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE enrolment (course integer REFERENCES course ON DELETE CASCADE, student integer REFERENCES student, grade numeric(3, 1) CHECK (grade BETWEEN 1 AND 6), PRIMARY KEY (course, student));
INSERT INTO course VALUES (1, 'algebra', 2), (2, 'logic', 1);
INSERT INTO student SELECT i, 'student ' || i FROM generate_series(1, 4) AS i;
CREATE FUNCTION enrol(c integer, s integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  UPDATE course SET seats = seats - 1 WHERE id = c;
  IF NOT FOUND THEN RETURN 'no course'; END IF;
  INSERT INTO enrolment (course, student) VALUES (c, s);
  RETURN 'ok';
EXCEPTION
  WHEN check_violation THEN RETURN 'full';
  WHEN unique_violation THEN RETURN 'twice';
  WHEN foreign_key_violation THEN RETURN 'nobody';
END $$;
SELECT enrol(1, 1);
SELECT enrol(1, 1);
SELECT enrol(1, 2);
SELECT enrol(1, 3);
SELECT enrol(2, 9);
SELECT enrol(3, 1);
SELECT enrol(2, 3);
SELECT id, seats FROM course ORDER BY id;
UPDATE enrolment SET grade = 5.5 WHERE course = 1 AND student = 1;
UPDATE enrolment SET grade = 7 WHERE course = 1 AND student = 2;
SELECT c.title, count(e.student), avg(e.grade), string_agg(s.name, ', ' ORDER BY s.name) FROM course c LEFT JOIN enrolment e ON e.course = c.id LEFT JOIN student s ON s.id = e.student GROUP BY c.id, c.title ORDER BY c.id;
SELECT name FROM student WHERE id NOT IN (SELECT student FROM enrolment) ORDER BY 1;
DELETE FROM student WHERE id = 1;
DELETE FROM course WHERE id = 1;
SELECT count(*) FROM enrolment;
