-- A job queue: workers take jobs with FOR UPDATE SKIP LOCKED, retries, dead letters, notifications.
BEGIN;
CREATE SCHEMA IF NOT EXISTS jobs;
SET search_path TO jobs, public;
CREATE TYPE jobs.job_state AS ENUM ('created', 'active', 'completed', 'failed');
CREATE TABLE jobs.queue (name text PRIMARY KEY, retry_limit integer NOT NULL DEFAULT 2, created_on timestamptz NOT NULL DEFAULT now());
CREATE TABLE jobs.job (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue text NOT NULL REFERENCES jobs.queue (name) ON DELETE CASCADE,
  priority integer NOT NULL DEFAULT 0,
  data jsonb NOT NULL DEFAULT '{}',
  state jobs.job_state NOT NULL DEFAULT 'created',
  retry_count integer NOT NULL DEFAULT 0,
  start_after timestamptz NOT NULL DEFAULT now(),
  locked_by text,
  output jsonb
);
CREATE INDEX job_fetch ON jobs.job (queue, priority DESC, id) WHERE state = 'created';
CREATE TABLE jobs.archive (LIKE jobs.job INCLUDING DEFAULTS);
ALTER TABLE jobs.archive ADD COLUMN archived_on timestamptz NOT NULL DEFAULT now();

CREATE OR REPLACE FUNCTION jobs.create_queue(p_name text, p_retry_limit integer DEFAULT 2) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO jobs.queue (name, retry_limit) VALUES (p_name, p_retry_limit)
  ON CONFLICT (name) DO UPDATE SET retry_limit = EXCLUDED.retry_limit;
$$;

CREATE OR REPLACE FUNCTION jobs.send(p_queue text, p_data jsonb, p_priority integer DEFAULT 0) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE v_id bigint;
BEGIN
  INSERT INTO jobs.job (queue, data, priority) VALUES (p_queue, p_data, p_priority) RETURNING id INTO v_id;
  PERFORM pg_notify('jobs', json_build_object('queue', p_queue, 'id', v_id)::text);
  RETURN v_id;
END;
$$;

CREATE OR REPLACE FUNCTION jobs.fetch_jobs(p_queue text, p_worker text, p_batch integer DEFAULT 1)
RETURNS TABLE (id bigint, data jsonb, retry_count integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH next AS (
    SELECT j.id FROM jobs.job j
    WHERE j.queue = p_queue AND j.state = 'created' AND j.start_after <= now()
    ORDER BY j.priority DESC, j.id
    LIMIT p_batch
    FOR UPDATE SKIP LOCKED
  )
  UPDATE jobs.job j SET state = 'active', locked_by = p_worker
  FROM next WHERE j.id = next.id
  RETURNING j.id, j.data, j.retry_count;
END;
$$;

CREATE OR REPLACE FUNCTION jobs.complete(p_ids bigint[], p_output jsonb DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE v_count integer;
BEGIN
  WITH done AS (
    UPDATE jobs.job SET state = 'completed', output = p_output, locked_by = NULL
    WHERE id = ANY (p_ids) AND state = 'active' RETURNING *
  ), moved AS (
    INSERT INTO jobs.archive SELECT * FROM done RETURNING id
  )
  SELECT count(*) INTO v_count FROM moved;
  DELETE FROM jobs.job WHERE id = ANY (p_ids) AND state = 'completed';
  RETURN v_count;
END;
$$;

CREATE OR REPLACE PROCEDURE jobs.fail(p_id bigint, p_reason text)
LANGUAGE plpgsql AS $$
DECLARE
  v_job jobs.job%ROWTYPE;
  v_limit integer;
BEGIN
  SELECT * INTO STRICT v_job FROM jobs.job WHERE id = p_id FOR UPDATE;
  SELECT retry_limit INTO v_limit FROM jobs.queue WHERE name = v_job.queue;
  UPDATE jobs.job SET
    state = CASE WHEN v_job.retry_count >= v_limit THEN 'failed'::jobs.job_state ELSE 'created'::jobs.job_state END,
    retry_count = v_job.retry_count + 1,
    locked_by = NULL,
    output = jsonb_build_object('error', p_reason)
  WHERE id = p_id;
EXCEPTION
  WHEN no_data_found THEN
    RAISE EXCEPTION 'job % not found', p_id USING HINT = 'It may have been archived.';
END;
$$;
COMMIT;

SELECT create_queue('mail');
SELECT create_queue('mail', 1);
SELECT send('mail', '{"to": "a@example.com"}'), send('mail', '{"to": "b@example.com"}', 5), send('mail', '{"to": "c@example.com"}');
SELECT send('nowhere', '{}');
SELECT * FROM fetch_jobs('mail', 'w1', 2);
SELECT * FROM fetch_jobs('mail', 'w2', 2);
SELECT * FROM fetch_jobs('mail', 'w3');
SELECT complete(ARRAY[1, 2, 77]::bigint[], '{"sent": true}');
CALL fail(3, 'no route');
SELECT id, retry_count FROM fetch_jobs('mail', 'w1');
CALL fail(3, 'no route again');
CALL fail(99, 'x');
SELECT id, state, retry_count, output FROM job ORDER BY id;
SELECT id, state, output FROM archive ORDER BY id;
DELETE FROM queue WHERE name = 'mail';
SELECT count(*) FROM job;
