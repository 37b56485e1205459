CREATE TABLE pgbench_accounts (aid integer PRIMARY KEY, bid integer, abalance integer, filler char(84));
CREATE TABLE pgbench_tellers (tid integer PRIMARY KEY, bid integer, tbalance integer, filler char(84));
CREATE TABLE pgbench_branches (bid integer PRIMARY KEY, bbalance integer, filler char(88));
CREATE TABLE pgbench_history (tid integer, bid integer, aid integer, delta integer, mtime timestamp, filler char(22));
INSERT INTO pgbench_branches (bid, bbalance) VALUES (1, 0);
INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT i, 1, 0 FROM generate_series(1, 10) AS g(i);
INSERT INTO pgbench_accounts (aid, bid, abalance, filler) SELECT i, 1, 0, '' FROM generate_series(1, 100) AS g(i);
CREATE OR REPLACE FUNCTION tpcb(p_aid integer, p_bid integer, p_tid integer, p_delta integer) RETURNS integer AS $$
DECLARE
  v_abalance integer;
BEGIN
  UPDATE pgbench_accounts SET abalance = abalance + p_delta WHERE aid = p_aid;
  SELECT abalance INTO v_abalance FROM pgbench_accounts WHERE aid = p_aid;
  UPDATE pgbench_tellers SET tbalance = tbalance + p_delta WHERE tid = p_tid;
  UPDATE pgbench_branches SET bbalance = bbalance + p_delta WHERE bid = p_bid;
  INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (p_tid, p_bid, p_aid, p_delta, timestamp '2024-01-01');
  RETURN v_abalance;
END;
$$ LANGUAGE plpgsql;
SELECT tpcb(1, 1, 1, 100), tpcb(1, 1, 2, -30), tpcb(50, 1, 10, 7);
SELECT sum(abalance), (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT bbalance FROM pgbench_branches) FROM pgbench_accounts;
SELECT tid, bid, aid, delta, mtime FROM pgbench_history ORDER BY delta;
