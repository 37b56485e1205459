CREATE TABLE book (isbn varchar(13) PRIMARY KEY, title text NOT NULL, copies integer NOT NULL, lent integer NOT NULL DEFAULT 0);
CREATE TABLE member (id integer PRIMARY KEY, name text NOT NULL, fines numeric(6,2) NOT NULL DEFAULT 0, since date NOT NULL);
CREATE TABLE loan (isbn varchar(13), member integer, out_on date NOT NULL, due date NOT NULL, back_on date, PRIMARY KEY (isbn, member, out_on));
CREATE TABLE audit (what text, who integer, detail text);
INSERT INTO book VALUES ('111', 'SQL', 2), ('222', 'C++', 1), ('333', 'Gone', 0);
INSERT INTO member VALUES (1, 'Ina', 0, '2020-01-01'), (2, 'Jon', 12.50, '2021-12-31'), (3, 'Kai', 0, '2024-02-29');
CREATE FUNCTION loan_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE book SET lent = lent + 1 WHERE isbn = NEW.isbn AND lent < copies;
    IF NOT FOUND THEN RAISE EXCEPTION 'no copy of % left', NEW.isbn USING ERRCODE = 'LB001'; END IF;
    NEW.due := NEW.out_on + CASE WHEN (SELECT since FROM member WHERE id = NEW.member) < '2021-01-01' THEN 28 ELSE 14 END;
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' THEN
    IF OLD.back_on IS NULL AND NEW.back_on IS NOT NULL THEN
      UPDATE book SET lent = lent - 1 WHERE isbn = NEW.isbn;
      IF NEW.back_on > OLD.due THEN
        UPDATE member SET fines = fines + 0.25 * (NEW.back_on - OLD.due) WHERE id = NEW.member;
      END IF;
    END IF;
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'loans stay: % %', OLD.isbn, OLD.member;
END $$;
CREATE TRIGGER loan_changed BEFORE INSERT OR UPDATE OR DELETE ON loan FOR EACH ROW EXECUTE FUNCTION loan_changed();
CREATE FUNCTION log_fines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit VALUES (TG_TABLE_NAME || ' ' || TG_NAME, NEW.id, format('%s -> %s', OLD.fines, NEW.fines));
  RETURN NULL;
END $$;
CREATE TRIGGER fines AFTER UPDATE OF fines ON member FOR EACH ROW WHEN (OLD.fines IS DISTINCT FROM NEW.fines) EXECUTE FUNCTION log_fines();
CREATE PROCEDURE lend(p_isbn varchar, p_member integer, p_day date) LANGUAGE plpgsql AS $$
DECLARE m member%ROWTYPE; n bigint;
BEGIN
  SELECT * INTO STRICT m FROM member WHERE id = p_member;
  SELECT count(*) INTO n FROM loan WHERE member = p_member AND back_on IS NULL;
  CASE
    WHEN m.fines > 10 THEN RAISE EXCEPTION '% owes %', m.name, m.fines USING ERRCODE = 'LB002';
    WHEN n >= 2 THEN RAISE EXCEPTION '% has % books', m.name, n USING ERRCODE = 'LB003';
    ELSE NULL;
  END CASE;
  INSERT INTO loan (isbn, member, out_on, due) VALUES (p_isbn, p_member, p_day, p_day);
END $$;
CREATE PROCEDURE give_back(p_isbn varchar, p_member integer, p_day date, OUT p_days integer, OUT p_fines numeric) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE loan SET back_on = p_day WHERE isbn = p_isbn AND member = p_member AND back_on IS NULL RETURNING p_day - out_on INTO p_days;
  IF p_days IS NULL THEN RAISE EXCEPTION '% does not have %', p_member, p_isbn; END IF;
  SELECT fines INTO p_fines FROM member WHERE id = p_member;
END $$;
CALL lend('111', 1, '2024-01-10');
CALL lend('222', 1, '2024-01-11');
CALL lend('111', 1, '2024-01-12');
CALL lend('111', 2, '2024-01-12');
CALL lend('222', 3, '2024-01-12');
CALL lend('111', 3, '2024-03-01');
CALL lend('999', 3, '2024-03-01');
CALL lend('111', 9, '2024-03-01');
CALL lend(NULL, 3, '2024-03-01');
CALL give_back('111', 1, '2024-02-20', NULL, NULL);
CALL give_back('111', 1, '2024-02-20', NULL, NULL);
CALL give_back('222', 1, '2024-02-01', NULL, NULL);
CALL give_back('111', 3, '2024-12-31', NULL, NULL);
CALL lend('222', 3, '2024-12-31');
DELETE FROM loan WHERE member = 3;
SELECT * FROM book ORDER BY 1;
SELECT * FROM member ORDER BY 1;
SELECT * FROM loan ORDER BY 1, 2, 3;
SELECT * FROM audit ORDER BY who;
