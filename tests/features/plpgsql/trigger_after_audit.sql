CREATE TABLE emp (empname text PRIMARY KEY, salary integer);
CREATE TABLE emp_audit (operation text NOT NULL, empname text NOT NULL, salary integer);
CREATE OR REPLACE FUNCTION process_emp_audit() RETURNS TRIGGER AS $emp_audit$
    BEGIN
        IF (TG_OP = 'DELETE') THEN
            INSERT INTO emp_audit SELECT 'D', OLD.*;
        ELSIF (TG_OP = 'UPDATE') THEN
            INSERT INTO emp_audit SELECT 'U', NEW.*;
        ELSIF (TG_OP = 'INSERT') THEN
            INSERT INTO emp_audit VALUES ('I', NEW.*);
        END IF;
        RETURN NULL; -- result is ignored since this is an AFTER trigger
    END;
$emp_audit$ LANGUAGE plpgsql;
CREATE TRIGGER emp_audit AFTER INSERT OR UPDATE OR DELETE ON emp
    FOR EACH ROW EXECUTE FUNCTION process_emp_audit();
INSERT INTO emp VALUES ('ann', 1), ('bob', 2);
UPDATE emp SET salary = salary * 10;
DELETE FROM emp WHERE empname = 'bob';
SELECT * FROM emp_audit ORDER BY operation, empname;
SELECT * FROM emp;
DROP TRIGGER emp_audit ON emp;
DELETE FROM emp;
SELECT count(*) FROM emp_audit;
DROP TRIGGER emp_audit ON emp;
DROP TRIGGER IF EXISTS emp_audit ON emp;
