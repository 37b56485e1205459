-- WITH, SET and RESET of storage parameters; tier_cache is ScyPer's own.
CREATE TABLE kept (id integer PRIMARY KEY) WITH (fillfactor = 70);
INSERT INTO kept VALUES (1);
ALTER TABLE kept SET (fillfactor = 80, autovacuum_enabled = false);
ALTER TABLE kept RESET (fillfactor, autovacuum_enabled);
ALTER TABLE kept RESET (nothing_known);
ALTER TABLE kept SET (nothing_known = 1);
ALTER TABLE kept RESET (fillfactor = 70);
ALTER TABLE IF EXISTS nowhere SET (fillfactor = 70);
ALTER TABLE nowhere SET (fillfactor = 70);
CREATE TABLE wrong (id integer) WITH (nothing_known = 1);
ALTER TABLE kept SET (foo.fillfactor = 70);
ALTER TABLE kept RESET (foo.fillfactor);
CREATE TABLE wrong (id integer) WITH (fillfactor = 70, fillfactor = 80);
CREATE TABLE wrong WITH ("fillfactor = 70); SELECT 1; --" = 1) AS SELECT 1 AS k;
CREATE TABLE filled WITH (fillfactor = 70) AS SELECT 1 AS k;
DROP TABLE filled;
SELECT reloptions FROM pg_class WHERE relname = 'kept';
-- differs: PostgreSQL knows no tier_cache
CREATE TABLE chosen (id integer) WITH (tier_cache = dimensions);
-- differs: PostgreSQL knows no tier_cache
ALTER TABLE kept SET (tier_cache = 'history');
-- differs: PostgreSQL knows no tier_cache
SELECT relname, reloptions FROM pg_class WHERE relname IN ('kept', 'chosen') ORDER BY 1;
-- differs: PostgreSQL knows no tier_cache
DROP TABLE chosen;
ALTER TABLE kept RESET (tier_cache);
SELECT relname, reloptions FROM pg_class WHERE relname IN ('kept', 'chosen') ORDER BY 1;
SELECT * FROM kept;
