CREATE TABLE emp (empname text, salary integer, last_date date, last_user text);
CREATE FUNCTION emp_stamp() RETURNS trigger AS $emp_stamp$
BEGIN
  IF NEW.empname IS NULL THEN
    RAISE EXCEPTION 'empname cannot be null';
  END IF;
  IF NEW.salary IS NULL THEN
    RAISE EXCEPTION '% cannot have null salary', NEW.empname;
  END IF;
  IF NEW.salary < 0 THEN
    RAISE EXCEPTION '% cannot have a negative salary', NEW.empname;
  END IF;
  NEW.last_date := date '2024-01-01';
  NEW.last_user := 'someone';
  RETURN NEW;
END;
$emp_stamp$ LANGUAGE plpgsql;
CREATE TRIGGER emp_stamp BEFORE INSERT OR UPDATE ON emp FOR EACH ROW EXECUTE FUNCTION emp_stamp();
INSERT INTO emp VALUES ('ann', 100);
INSERT INTO emp VALUES (NULL, 100);
INSERT INTO emp VALUES ('bob', NULL);
INSERT INTO emp VALUES ('bob', -5);
INSERT INTO emp (empname, salary) VALUES ('cat', 1), ('dan', 2);
UPDATE emp SET salary = salary + 1, last_user = 'else' WHERE empname <> 'ann';
UPDATE emp SET salary = -1 WHERE empname = 'cat';
SELECT * FROM emp ORDER BY empname;
