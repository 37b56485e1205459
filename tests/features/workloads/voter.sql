CREATE TABLE contestants (contestant_number integer NOT NULL, contestant_name varchar(50) NOT NULL, PRIMARY KEY (contestant_number));
CREATE TABLE area_code_state (area_code smallint NOT NULL, state varchar(2) NOT NULL, PRIMARY KEY (area_code));
CREATE TABLE votes (phone_number bigint NOT NULL, state varchar(2) NOT NULL, contestant_number integer NOT NULL, created timestamp NOT NULL DEFAULT now());
CREATE INDEX votes_by_phone ON votes (phone_number);
CREATE VIEW v_votes_by_phone_number AS SELECT phone_number, count(*) AS num_votes FROM votes GROUP BY phone_number;
CREATE VIEW v_votes_by_contestant_number_state AS SELECT contestant_number, state, count(*) AS num_votes FROM votes GROUP BY contestant_number, state;
INSERT INTO contestants VALUES (1, 'Edwina Burnam'), (2, 'Tabatha Gehling'), (3, 'Kelly Clauss');
INSERT INTO area_code_state VALUES (212, 'NY'), (415, 'CA'), (907, 'AK');
CREATE FUNCTION vote(p_phone bigint, p_contestant integer, p_max integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  ok constant integer := 0;
  err_invalid_contestant constant integer := 1;
  err_over_limit constant integer := 2;
  v_state varchar(2);
BEGIN
  PERFORM 1 FROM contestants WHERE contestant_number = p_contestant;
  IF NOT FOUND THEN RETURN err_invalid_contestant; END IF;
  IF coalesce((SELECT num_votes FROM v_votes_by_phone_number WHERE phone_number = p_phone), 0) >= p_max THEN RETURN err_over_limit; END IF;
  SELECT state INTO v_state FROM area_code_state WHERE area_code = (p_phone / 10000000)::smallint;
  INSERT INTO votes (phone_number, state, contestant_number) VALUES (p_phone, coalesce(v_state, 'XX'), p_contestant);
  RETURN ok;
END $$;
SELECT vote(2125550001, 1, 2), vote(2125550001, 1, 2), vote(2125550001, 2, 2);
SELECT vote(4155550002, 9, 2);
SELECT i, vote(4155550000 + i, i % 3 + 1, 1) FROM generate_series(1, 9) g(i) ORDER BY i;
SELECT vote(9995550002, 3, 1);
SELECT vote(99995550002, 3, 1);
SELECT vote(999999995550002, 3, 1);
SELECT contestant_name, state, num_votes FROM v_votes_by_contestant_number_state JOIN contestants USING (contestant_number) ORDER BY 1, 2;
SELECT contestant_name, sum(num_votes) AS total FROM v_votes_by_contestant_number_state v, contestants c WHERE v.contestant_number = c.contestant_number GROUP BY contestant_name ORDER BY total DESC, 1;
SELECT count(DISTINCT created) >= 1, bool_and(created <= now()) FROM votes;
