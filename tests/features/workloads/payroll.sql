CREATE TABLE department (id integer PRIMARY KEY, name text NOT NULL, parent integer);
CREATE TABLE employee (id integer PRIMARY KEY, dept integer NOT NULL, name text NOT NULL, salary numeric(10,2), hired date NOT NULL, boss integer);
CREATE TABLE payslip (emp integer, month date, gross numeric(12,2), tax numeric(12,2), net numeric(12,2), PRIMARY KEY (emp, month));
INSERT INTO department VALUES (1, 'All', NULL), (2, 'Dev', 1), (3, 'Ops', 1), (4, 'Db', 2);
INSERT INTO employee VALUES (1, 1, 'Ada', 9000, '2010-01-04', NULL), (2, 2, 'Ben', 5000.50, '2015-06-15', 1), (3, 4, 'Cem', 4000, '2023-02-28', 2), (4, 3, 'Dan', NULL, '2020-02-29', 1), (5, 4, 'Eli', 3999.99, '2024-01-31', 3);
CREATE FUNCTION tax_of(p_gross numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  bounds numeric[] := ARRAY[0, 1000, 4000, 8000];
  rates numeric[] := ARRAY[0, 0.14, 0.3, 0.42];
  t numeric := 0;
  upper_bound numeric;
BEGIN
  FOR i IN 1 .. array_length(bounds, 1) LOOP
    EXIT WHEN p_gross <= bounds[i];
    upper_bound := coalesce(bounds[i + 1], p_gross);
    t := t + (least(p_gross, upper_bound) - bounds[i]) * rates[i];
  END LOOP;
  RETURN round(t, 2);
END $$;
SELECT g, tax_of(g) FROM (VALUES (0), (1000), (1000.01), (4000), (7999.99), (12345.67), (NULL)) v(g);
CREATE FUNCTION dept_path(p integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d department%ROWTYPE;
BEGIN
  SELECT * INTO d FROM department WHERE id = p;
  IF d.parent IS NULL THEN RETURN d.name; END IF;
  RETURN dept_path(d.parent) || '/' || d.name;
END $$;
SELECT id, dept_path(id) FROM department ORDER BY 2;
CREATE PROCEDURE run_payroll(p_month date, INOUT p_paid integer DEFAULT 0, INOUT p_skipped text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE
  e employee%ROWTYPE;
  months integer;
  gross numeric;
BEGIN
  FOR e IN SELECT * FROM employee WHERE hired <= p_month ORDER BY id LOOP
    BEGIN
      IF e.salary IS NULL THEN RAISE EXCEPTION 'no salary' USING ERRCODE = 'PR001'; END IF;
      months := extract(year FROM age(p_month, e.hired)) * 12 + extract(month FROM age(p_month, e.hired));
      gross := e.salary * (1 + least(months / 12, 10) * 0.01);
      INSERT INTO payslip VALUES (e.id, date_trunc('month', p_month)::date, gross, tax_of(gross), gross - tax_of(gross));
      p_paid := p_paid + 1;
    EXCEPTION
      WHEN SQLSTATE 'PR001' THEN p_skipped := p_skipped || (e.name || ': ' || SQLERRM);
      WHEN unique_violation OR not_null_violation THEN p_skipped := array_append(p_skipped, e.name || ' (' || SQLSTATE || ')');
    END;
  END LOOP;
END $$;
CALL run_payroll('2024-02-15');
CALL run_payroll('2024-02-29');
CALL run_payroll('2024-03-31');
CALL run_payroll(NULL);
SELECT * FROM payslip ORDER BY 1, 2;
WITH RECURSIVE chain(id, name, depth, path) AS (SELECT id, name, 0, name FROM employee WHERE boss IS NULL UNION ALL SELECT e.id, e.name, c.depth + 1, c.path || '>' || e.name FROM employee e JOIN chain c ON e.boss = c.id) SELECT * FROM chain ORDER BY path;
CREATE PROCEDURE raise_dept(p_dept integer, p_percent numeric, OUT n integer, OUT cost numeric) LANGUAGE plpgsql AS $$
DECLARE before numeric;
BEGIN
  WITH RECURSIVE t AS (SELECT id FROM department WHERE id = p_dept UNION SELECT d.id FROM department d JOIN t ON d.parent = t.id)
  SELECT sum(salary) INTO before FROM employee WHERE dept IN (SELECT id FROM t);
  UPDATE employee SET salary = salary * (1 + p_percent / 100) WHERE dept IN (WITH RECURSIVE t AS (SELECT id FROM department WHERE id = p_dept UNION SELECT d.id FROM department d JOIN t ON d.parent = t.id) SELECT id FROM t);
  GET DIAGNOSTICS n := ROW_COUNT;
  SELECT sum(salary) - before INTO cost FROM employee e WHERE EXISTS (SELECT 1 FROM department d WHERE d.id = e.dept AND dept_path(d.id) LIKE dept_path(p_dept) || '%');
END $$;
CALL raise_dept(2, 10, NULL, NULL);
CALL raise_dept(3, 10, NULL, NULL);
CALL raise_dept(77, 10, NULL, NULL);
CALL raise_dept(1, 1e8, NULL, NULL);
SELECT id, name, salary, hired + interval '1 month' FROM employee ORDER BY id;
SELECT d.name, count(e.id), avg(e.salary), max(e.hired) - min(e.hired) AS days FROM department d LEFT JOIN employee e ON e.dept = d.id GROUP BY d.name ORDER BY d.name;
