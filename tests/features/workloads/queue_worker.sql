CREATE TABLE job (id bigint PRIMARY KEY, queue varchar(10) NOT NULL, priority smallint NOT NULL DEFAULT 0, run_at timestamp NOT NULL, attempts integer NOT NULL DEFAULT 0, payload text NOT NULL, state text NOT NULL DEFAULT 'ready', error text);
CREATE INDEX job_next ON job (queue, state, priority, run_at);
CREATE TABLE job_log (job_id bigint NOT NULL, at timestamp NOT NULL, what text NOT NULL);
INSERT INTO job (id, queue, priority, run_at, payload) SELECT i, CASE WHEN i % 3 = 0 THEN 'mail' ELSE 'sum' END, (i % 2)::smallint, timestamp '2024-01-01' + i * interval '1 minute', CASE WHEN i = 5 THEN 'x,1' WHEN i = 8 THEN '1,0' ELSE i || ',' || i + 1 END FROM generate_series(1, 10) g(i);
CREATE FUNCTION work(payload text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  parts text[] := string_to_array(payload, ',');
  a integer; b integer;
BEGIN
  a := parts[1]; b := parts[2]::integer;
  RETURN (a + b) || '/' || a / b;
END $$;
CREATE FUNCTION run_next(p_queue varchar, p_now timestamp) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  j job%ROWTYPE;
  result text;
  msg text; state text;
BEGIN
  SELECT * INTO j FROM job WHERE queue = p_queue AND job.state = 'ready' AND run_at <= p_now ORDER BY priority DESC, run_at LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN NULL; END IF;
  UPDATE job SET attempts = attempts + 1 WHERE id = j.id RETURNING * INTO j;
  BEGIN
    result := work(j.payload);
    UPDATE job SET state = 'done', error = NULL WHERE id = j.id;
    INSERT INTO job_log VALUES (j.id, p_now, result);
  EXCEPTION WHEN division_by_zero THEN
    UPDATE job SET state = 'dead', error = SQLERRM WHERE id = j.id;
    result := 'dead ' || j.id;
  WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS msg = MESSAGE_TEXT, state = RETURNED_SQLSTATE;
    UPDATE job SET error = state || ' ' || msg, run_at = p_now + (2 ^ j.attempts) * interval '1 minute', state = CASE WHEN attempts >= 3 THEN 'dead' ELSE 'ready' END WHERE id = j.id;
    result := 'again ' || j.id;
  END;
  RETURN result;
END $$;
CREATE FUNCTION run_next_qualified(p_queue varchar, p_now timestamp) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  j job%ROWTYPE;
  result text;
  msg text; code text;
BEGIN
  SELECT * INTO j FROM job WHERE queue = p_queue AND state = 'ready' AND run_at <= p_now ORDER BY priority DESC, run_at LIMIT 1;
  IF NOT FOUND THEN RETURN NULL; END IF;
  UPDATE job SET attempts = attempts + 1 WHERE id = j.id RETURNING * INTO j;
  BEGIN
    result := work(j.payload);
    UPDATE job SET state = 'done', error = NULL WHERE id = j.id;
    INSERT INTO job_log VALUES (j.id, p_now, result);
  EXCEPTION WHEN division_by_zero THEN
    UPDATE job SET state = 'dead', error = SQLERRM WHERE id = j.id;
    result := 'dead ' || j.id;
  WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS msg = MESSAGE_TEXT, code = RETURNED_SQLSTATE;
    UPDATE job SET error = code || ' ' || msg, run_at = p_now + (2 ^ j.attempts) * interval '1 minute', state = CASE WHEN attempts >= 3 THEN 'dead' ELSE 'ready' END WHERE id = j.id;
    result := 'again ' || j.id;
  END;
  RETURN result;
END $$;
SELECT run_next('sum', '2024-01-01 00:30');
SELECT t, run_next_qualified('sum', timestamp '2024-01-01 00:30' + t * interval '5 minutes') FROM generate_series(1, 12) g(t) ORDER BY t;
SELECT run_next_qualified('mail', '2024-01-01');
SELECT run_next_qualified('mail', '2024-01-01 00:06');
SELECT id, queue, attempts, state, error, run_at FROM job ORDER BY id;
SELECT * FROM job_log ORDER BY job_id;
SELECT queue, state, count(*), avg(attempts)::numeric(6,3) FROM job GROUP BY GROUPING SETS ((queue, state), (queue), ()) ORDER BY 1, 2;
