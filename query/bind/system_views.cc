#include "bind/system_views.h"

#include <algorithm>
#include <iterator>

// Views over the system tables (bind/system_tables.h), as PostgreSQL has them. What there is nothing of here has no
// rows; counters that are not kept are 0.
namespace scyper::query {

namespace {

struct SystemView {
  std::string_view schema;
  std::string_view name;
  std::string_view query;
};

// Of statistics: the relations that a view is about.
#define SCYPER_NOT_SYSTEM " AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
#define SCYPER_SYSTEM " AND n.nspname IN ('pg_catalog', 'information_schema')"

#define SCYPER_STAT_TABLES(condition)                                                                                  \
  "SELECT c.oid AS relid, n.nspname AS schemaname, c.relname, 0::int8 AS seq_scan, 0::int8 AS seq_tup_read, "          \
  "CASE WHEN c.relhasindex THEN 0::int8 END AS idx_scan, CASE WHEN c.relhasindex THEN 0::int8 END AS "                 \
  "idx_tup_fetch, 0::int8 AS n_tup_ins, 0::int8 AS n_tup_upd, 0::int8 AS n_tup_del, 0::int8 AS n_tup_hot_upd, "        \
  "(SELECT k.live FROM pg_catalog.scyper_table_counts k WHERE k.relid = c.oid) AS n_live_tup, 0::int8 AS n_dead_tup, " \
  "0::int8 AS n_mod_since_analyze, "                                                                                   \
  "0::int8 AS n_ins_since_vacuum, NULL::timestamptz AS last_vacuum, NULL::timestamptz AS last_autovacuum, "            \
  "NULL::timestamptz AS last_analyze, NULL::timestamptz AS last_autoanalyze, 0::int8 AS vacuum_count, "                \
  "0::int8 AS autovacuum_count, 0::int8 AS analyze_count, 0::int8 AS autoanalyze_count "                               \
  "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "                               \
  "WHERE c.relkind IN ('r', 'm')" condition

#define SCYPER_STATIO_TABLES(condition)                                                                      \
  "SELECT c.oid AS relid, n.nspname AS schemaname, c.relname, 0::int8 AS heap_blks_read, 0::int8 AS "        \
  "heap_blks_hit, CASE WHEN c.relhasindex THEN 0::int8 END AS idx_blks_read, CASE WHEN c.relhasindex THEN "  \
  "0::int8 END AS idx_blks_hit, NULL::int8 AS toast_blks_read, NULL::int8 AS toast_blks_hit, NULL::int8 AS " \
  "tidx_blks_read, NULL::int8 AS tidx_blks_hit FROM pg_catalog.pg_class c "                                  \
  "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm')" condition

#define SCYPER_INDEXES(counters, condition)                                                                      \
  "SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname, i.relname AS "                \
  "indexrelname, " counters                                                                                      \
  " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index x ON c.oid = x.indrelid "                                \
  "JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace " \
  "WHERE c.relkind IN ('r', 'm')" condition
#define SCYPER_SCANS "0::int8 AS idx_scan, 0::int8 AS idx_tup_read, 0::int8 AS idx_tup_fetch"
#define SCYPER_BLOCKS "0::int8 AS idx_blks_read, 0::int8 AS idx_blks_hit"

// PostgreSQL names the check that NOT NULL stands for after schema, table and column.
#define SCYPER_NOT_NULL_NAME "n.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null'"
#define SCYPER_NOT_NULL_FROM                                                              \
  " FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class r ON n.oid = r.relnamespace " \
  "JOIN pg_catalog.pg_attribute a ON r.oid = a.attrelid "                                 \
  "WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND r.relkind = 'r'"

#define SCYPER_RULE(column)                                                                                 \
  "CASE c." column                                                                                          \
  " WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' " \
  "ELSE 'NO ACTION' END"

constexpr std::string_view kCatalog = "pg_catalog", kSchema = "information_schema";

constexpr SystemView kViews[] = {
    {kCatalog, "pg_stat_all_tables", SCYPER_STAT_TABLES("")},
    {kCatalog, "pg_stat_user_tables", SCYPER_STAT_TABLES(SCYPER_NOT_SYSTEM)},
    {kCatalog, "pg_stat_sys_tables", SCYPER_STAT_TABLES(SCYPER_SYSTEM)},
    {kCatalog, "pg_statio_all_tables", SCYPER_STATIO_TABLES("")},
    {kCatalog, "pg_statio_user_tables", SCYPER_STATIO_TABLES(SCYPER_NOT_SYSTEM)},
    {kCatalog, "pg_statio_sys_tables", SCYPER_STATIO_TABLES(SCYPER_SYSTEM)},
    {kCatalog, "pg_stat_all_indexes", SCYPER_INDEXES(SCYPER_SCANS, "")},
    {kCatalog, "pg_stat_user_indexes", SCYPER_INDEXES(SCYPER_SCANS, SCYPER_NOT_SYSTEM)},
    {kCatalog, "pg_stat_sys_indexes", SCYPER_INDEXES(SCYPER_SCANS, SCYPER_SYSTEM)},
    {kCatalog, "pg_statio_all_indexes", SCYPER_INDEXES(SCYPER_BLOCKS, "")},
    {kCatalog, "pg_statio_user_indexes", SCYPER_INDEXES(SCYPER_BLOCKS, SCYPER_NOT_SYSTEM)},
    {kCatalog, "pg_statio_sys_indexes", SCYPER_INDEXES(SCYPER_BLOCKS, SCYPER_SYSTEM)},
    {kCatalog, "pg_stat_database",
     "SELECT d.oid AS datid, d.datname, 0 AS numbackends, 0::int8 AS xact_commit, 0::int8 AS xact_rollback, "
     "0::int8 AS blks_read, 0::int8 AS blks_hit, 0::int8 AS tup_returned, 0::int8 AS tup_fetched, "
     "0::int8 AS tup_inserted, 0::int8 AS tup_updated, 0::int8 AS tup_deleted, 0::int8 AS conflicts, "
     "0::int8 AS temp_files, 0::int8 AS temp_bytes, 0::int8 AS deadlocks, NULL::int8 AS checksum_failures, "
     "NULL::timestamptz AS checksum_last_failure, 0::float8 AS blk_read_time, 0::float8 AS blk_write_time, "
     "0::float8 AS session_time, 0::float8 AS active_time, 0::float8 AS idle_in_transaction_time, "
     "0::int8 AS sessions, 0::int8 AS sessions_abandoned, 0::int8 AS sessions_fatal, 0::int8 AS sessions_killed, "
     "NULL::timestamptz AS stats_reset FROM pg_catalog.pg_database d"},
    {kCatalog, "pg_stat_archiver",
     "SELECT 0::int8 AS archived_count, NULL::text AS last_archived_wal, NULL::timestamptz AS "
     "last_archived_time, 0::int8 AS failed_count, NULL::text AS last_failed_wal, NULL::timestamptz AS "
     "last_failed_time, NULL::timestamptz AS stats_reset"},
    {kCatalog, "pg_stat_bgwriter",
     "SELECT 0::int8 AS checkpoints_timed, 0::int8 AS checkpoints_req, 0::float8 AS checkpoint_write_time, "
     "0::float8 AS checkpoint_sync_time, 0::int8 AS buffers_checkpoint, 0::int8 AS buffers_clean, 0::int8 AS "
     "maxwritten_clean, 0::int8 AS buffers_backend, 0::int8 AS buffers_backend_fsync, 0::int8 AS buffers_alloc,"
     " NULL::timestamptz AS stats_reset"},
    {kCatalog, "pg_stat_wal",
     "SELECT 0::int8 AS wal_records, 0::int8 AS wal_fpi, 0::numeric AS wal_bytes, 0::int8 AS wal_buffers_full, "
     "0::int8 AS wal_write, 0::int8 AS wal_sync, 0::float8 AS wal_write_time, 0::float8 AS wal_sync_time, "
     "NULL::timestamptz AS stats_reset"},
    {kCatalog, "pg_stat_database_conflicts",
     "SELECT NULL::oid AS datid, NULL::name AS datname, NULL::int8 AS confl_tablespace, NULL::int8 AS "
     "confl_lock, NULL::int8 AS confl_snapshot, NULL::int8 AS confl_bufferpin, NULL::int8 AS confl_deadlock "
     "WHERE false"},
    {kCatalog, "pg_stat_replication",
     "SELECT NULL::int4 AS pid, NULL::oid AS usesysid, NULL::name AS usename, NULL::text AS application_name, "
     "NULL::text AS client_addr, NULL::text AS client_hostname, NULL::int4 AS client_port, NULL::timestamptz AS"
     " backend_start, NULL::int8 AS backend_xmin, NULL::text AS state, NULL::text AS sent_lsn, NULL::text AS "
     "write_lsn, NULL::text AS flush_lsn, NULL::text AS replay_lsn, NULL::interval AS write_lag, NULL::interval"
     " AS flush_lag, NULL::interval AS replay_lag, NULL::int4 AS sync_priority, NULL::text AS sync_state, "
     "NULL::timestamptz AS reply_time WHERE false"},
    {kCatalog, "pg_stat_wal_receiver",
     "SELECT NULL::int4 AS pid, NULL::text AS status, NULL::text AS receive_start_lsn, NULL::int4 AS "
     "receive_start_tli, NULL::text AS written_lsn, NULL::text AS flushed_lsn, NULL::int4 AS received_tli, "
     "NULL::timestamptz AS last_msg_send_time, NULL::timestamptz AS last_msg_receipt_time, NULL::text AS "
     "latest_end_lsn, NULL::timestamptz AS latest_end_time, NULL::text AS slot_name, NULL::text AS sender_host,"
     " NULL::int4 AS sender_port, NULL::text AS conninfo WHERE false"},
    {kCatalog, "pg_stat_subscription",
     "SELECT NULL::oid AS subid, NULL::name AS subname, NULL::int4 AS pid, NULL::oid AS relid, NULL::text AS "
     "received_lsn, NULL::timestamptz AS last_msg_send_time, NULL::timestamptz AS last_msg_receipt_time, "
     "NULL::text AS latest_end_lsn, NULL::timestamptz AS latest_end_time WHERE false"},
    {kCatalog, "pg_stat_ssl",
     "SELECT NULL::int4 AS pid, NULL::bool AS ssl, NULL::text AS version, NULL::text AS cipher, NULL::int4 AS "
     "bits, NULL::text AS client_dn, NULL::numeric AS client_serial, NULL::text AS issuer_dn WHERE false"},
    {kCatalog, "pg_stat_gssapi",
     "SELECT NULL::int4 AS pid, NULL::bool AS gss_authenticated, NULL::text AS principal, NULL::bool AS "
     "encrypted WHERE false"},
    {kCatalog, "pg_stat_slru",
     "SELECT NULL::text AS name, NULL::int8 AS blks_zeroed, NULL::int8 AS blks_hit, NULL::int8 AS blks_read, "
     "NULL::int8 AS blks_written, NULL::int8 AS blks_exists, NULL::int8 AS flushes, NULL::int8 AS truncates, "
     "NULL::timestamptz AS stats_reset WHERE false"},
    {kCatalog, "pg_replication_slots",
     "SELECT NULL::name AS slot_name, NULL::name AS plugin, NULL::text AS slot_type, NULL::oid AS datoid, "
     "NULL::name AS database, NULL::bool AS temporary, NULL::bool AS active, NULL::int4 AS active_pid, "
     "NULL::int8 AS xmin, NULL::int8 AS catalog_xmin, NULL::text AS restart_lsn, NULL::text AS "
     "confirmed_flush_lsn, NULL::text AS wal_status, NULL::int8 AS safe_wal_size, NULL::bool AS two_phase WHERE"
     " false"},
    {kCatalog, "pg_stat_replication_slots",
     "SELECT NULL::text AS slot_name, NULL::int8 AS spill_txns, NULL::int8 AS spill_count, NULL::int8 AS "
     "spill_bytes, NULL::int8 AS stream_txns, NULL::int8 AS stream_count, NULL::int8 AS stream_bytes, "
     "NULL::int8 AS total_txns, NULL::int8 AS total_bytes, NULL::timestamptz AS stats_reset WHERE false"},
    {kCatalog, "pg_stat_progress_vacuum",
     "SELECT NULL::int4 AS pid, NULL::oid AS datid, NULL::name AS datname, NULL::oid AS relid, NULL::text AS "
     "phase, NULL::int8 AS heap_blks_total, NULL::int8 AS heap_blks_scanned, NULL::int8 AS heap_blks_vacuumed, "
     "NULL::int8 AS index_vacuum_count, NULL::int8 AS max_dead_tuples, NULL::int8 AS num_dead_tuples WHERE "
     "false"},
    {kCatalog, "pg_stat_progress_create_index",
     "SELECT NULL::int4 AS pid, NULL::oid AS datid, NULL::name AS datname, NULL::oid AS relid, NULL::oid AS "
     "index_relid, NULL::text AS command, NULL::text AS phase, NULL::int8 AS lockers_total, NULL::int8 AS "
     "lockers_done, NULL::int8 AS current_locker_pid, NULL::int8 AS blocks_total, NULL::int8 AS blocks_done, "
     "NULL::int8 AS tuples_total, NULL::int8 AS tuples_done, NULL::int8 AS partitions_total, NULL::int8 AS "
     "partitions_done WHERE false"},
    {kCatalog, "pg_stat_progress_analyze",
     "SELECT NULL::int4 AS pid, NULL::oid AS datid, NULL::name AS datname, NULL::oid AS relid, NULL::text AS "
     "phase, NULL::int8 AS sample_blks_total, NULL::int8 AS sample_blks_scanned, NULL::int8 AS ext_stats_total,"
     " NULL::int8 AS ext_stats_computed, NULL::int8 AS child_tables_total, NULL::int8 AS child_tables_done, "
     "NULL::oid AS current_child_table_relid WHERE false"},
    {kCatalog, "pg_stat_progress_cluster",
     "SELECT NULL::int4 AS pid, NULL::oid AS datid, NULL::name AS datname, NULL::oid AS relid, NULL::text AS "
     "command, NULL::text AS phase, NULL::oid AS cluster_index_relid, NULL::int8 AS heap_tuples_scanned, "
     "NULL::int8 AS heap_tuples_written, NULL::int8 AS heap_blks_total, NULL::int8 AS heap_blks_scanned, "
     "NULL::int8 AS index_rebuild_count WHERE false"},
    {kCatalog, "pg_stat_progress_copy",
     "SELECT NULL::int4 AS pid, NULL::oid AS datid, NULL::name AS datname, NULL::oid AS relid, NULL::text AS "
     "command, NULL::text AS type, NULL::int8 AS bytes_processed, NULL::int8 AS bytes_total, NULL::int8 AS "
     "tuples_processed, NULL::int8 AS tuples_excluded WHERE false"},
    {kCatalog, "pg_stat_progress_basebackup",
     "SELECT NULL::int4 AS pid, NULL::text AS phase, NULL::int8 AS backup_total, NULL::int8 AS backup_streamed,"
     " NULL::int8 AS tablespaces_total, NULL::int8 AS tablespaces_streamed WHERE false"},
    {kCatalog, "pg_statio_all_sequences",
     "SELECT NULL::oid AS relid, NULL::name AS schemaname, NULL::name AS relname, NULL::int8 AS blks_read, "
     "NULL::int8 AS blks_hit WHERE false"},
    {kCatalog, "pg_statio_user_sequences",
     "SELECT NULL::oid AS relid, NULL::name AS schemaname, NULL::name AS relname, NULL::int8 AS blks_read, "
     "NULL::int8 AS blks_hit WHERE false"},
    {kCatalog, "pg_statio_sys_sequences",
     "SELECT NULL::oid AS relid, NULL::name AS schemaname, NULL::name AS relname, NULL::int8 AS blks_read, "
     "NULL::int8 AS blks_hit WHERE false"},
    {kCatalog, "pg_file_settings",
     "SELECT NULL::text AS sourcefile, NULL::int4 AS sourceline, NULL::int4 AS seqno, NULL::text AS name, "
     "NULL::text AS setting, NULL::bool AS applied, NULL::text AS error WHERE false"},
    {kCatalog, "pg_hba_file_rules",
     "SELECT NULL::int4 AS line_number, NULL::text AS type, NULL::text[] AS database, NULL::text[] AS "
     "user_name, NULL::text AS address, NULL::text AS netmask, NULL::text AS auth_method, NULL::text[] AS "
     "options, NULL::text AS error WHERE false"},
    {kCatalog, "pg_ident_file_mappings",
     "SELECT NULL::int4 AS line_number, NULL::text AS map_name, NULL::text AS sys_name, NULL::text AS "
     "pg_username, NULL::text AS error WHERE false"},
    {kCatalog, "pg_stat_xact_user_tables",
     "SELECT NULL::oid AS relid, NULL::name AS schemaname, NULL::name AS relname, NULL::int8 AS seq_scan, "
     "NULL::int8 AS seq_tup_read, NULL::int8 AS idx_scan, NULL::int8 AS idx_tup_fetch, NULL::int8 AS n_tup_ins,"
     " NULL::int8 AS n_tup_upd, NULL::int8 AS n_tup_del, NULL::int8 AS n_tup_hot_upd WHERE false"},
    {kCatalog, "pg_sequences",
     "SELECT s.schemaname, s.sequencename, s.sequenceowner, s.data_type, s.start_value, s.min_value, s.max_value, "
     "s.increment_by, s.cycle, s.cache_size, pg_catalog.pg_sequence_last_value(s.scyper_oid) AS last_value "
     "FROM pg_catalog.scyper_sequences s"},
    {kCatalog, "pg_timezone_names",
     "SELECT z.name, z.abbrev, make_interval(secs => z.seconds) AS utc_offset, z.is_dst "
     "FROM pg_catalog.scyper_time_zones z"},
    {kCatalog, "pg_timezone_abbrevs",
     "SELECT a.abbrev, make_interval(secs => a.seconds) AS utc_offset, a.is_dst "
     "FROM pg_catalog.scyper_time_zone_abbrevs a"},
    {kCatalog, "pg_shadow",
     "SELECT usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls, passwd, valuntil, useconfig "
     "FROM pg_catalog.pg_user"},
    {kCatalog, "pg_group",
     "SELECT r.rolname AS groname, r.oid AS grosysid, ARRAY(SELECT m.member FROM pg_catalog.pg_auth_members m "
     "WHERE m.roleid = r.oid) AS grolist FROM pg_catalog.pg_roles r WHERE NOT r.rolcanlogin"},
    {kCatalog, "pg_cursors",
     "SELECT c.name, c.statement, c.is_holdable, c.is_binary, c.is_scrollable, c.creation_time "
     "FROM jsonb_to_recordset(coalesce(current_setting('scyper.cursors', true), '[]')::jsonb) AS c (name text, "
     "statement text, is_holdable boolean, is_binary boolean, is_scrollable boolean, creation_time timestamptz)"},
    {kCatalog, "pg_prepared_statements",
     "SELECT p.name, p.statement, p.prepare_time, string_to_array(p.parameter_types, ',') AS parameter_types, "
     "p.from_sql, p.generic_plans, p.custom_plans "
     "FROM jsonb_to_recordset(coalesce(current_setting('scyper.statements', true), '[]')::jsonb) AS p (name "
     "text, "
     "statement text, prepare_time timestamptz, parameter_types text, from_sql boolean, generic_plans int8, "
     "custom_plans int8)"},
    {kSchema, "information_schema_catalog_name", "SELECT current_database()::text AS catalog_name"},
    {kSchema, "referential_constraints",
     "SELECT current_database()::text AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS "
     "constraint_name, "
     "CASE WHEN u.conname IS NOT NULL THEN current_database()::text END AS unique_constraint_catalog, un.nspname AS "
     "unique_constraint_schema, u.conname AS unique_constraint_name, CASE c.confmatchtype WHEN 'f' THEN 'FULL' WHEN "
     "'p' THEN 'PARTIAL' ELSE 'NONE' END AS match_option, " SCYPER_RULE("confupdtype") " AS update_rule, " SCYPER_RULE(
         "confdeltype") " AS delete_rule "
                        "FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace "
                        "LEFT JOIN pg_catalog.pg_constraint u ON u.conindid = c.conindid AND u.contype IN ('p', 'u') "
                        "LEFT JOIN pg_catalog.pg_namespace un ON un.oid = u.connamespace WHERE c.contype = 'f'"},
    {kSchema, "check_constraints",
     "SELECT current_database()::text AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS "
     "constraint_name, "
     "substring(pg_catalog.pg_get_constraintdef(c.oid) from 7) AS check_clause FROM pg_catalog.pg_constraint c "
     "JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace WHERE c.contype = 'c' UNION ALL "
     "SELECT current_database()::text, n.nspname, " SCYPER_NOT_NULL_NAME
     ", a.attname || ' IS NOT NULL'" SCYPER_NOT_NULL_FROM},
    {kSchema, "table_constraints",
     "SELECT current_database()::text AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS "
     "constraint_name, "
     "current_database()::text AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name, CASE c.contype "
     "WHEN 'c' "
     "THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END AS constraint_type, "
     "CASE WHEN c.condeferrable THEN 'YES' ELSE 'NO' END AS is_deferrable, CASE WHEN c.condeferred THEN 'YES' ELSE "
     "'NO' END AS initially_deferred, 'YES'::text AS enforced, CASE WHEN c.contype = 'u' THEN 'YES' END AS "
     "nulls_distinct FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace "
     "JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace "
     "WHERE c.contype IN ('c', 'f', 'p', 'u') UNION ALL SELECT current_database()::text, "
     "n.nspname, " SCYPER_NOT_NULL_NAME
     ", current_database()::text, n.nspname, r.relname, 'CHECK', 'NO', 'NO', 'YES', NULL" SCYPER_NOT_NULL_FROM},
    {kSchema, "key_column_usage",
     "SELECT current_database()::text AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS "
     "constraint_name, "
     "current_database()::text AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name, a.attname AS "
     "column_name, "
     "k.n::int4 AS ordinal_position, CASE WHEN c.contype = 'f' THEN array_position(u.conkey, c.confkey[k.n::int4]) END "
     "AS position_in_unique_constraint FROM pg_catalog.pg_constraint c "
     "JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace JOIN pg_catalog.pg_class r ON r.oid = c.conrelid "
     "JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace "
     "CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k (attnum, n) "
     "JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.attnum "
     "LEFT JOIN pg_catalog.pg_constraint u ON c.contype = 'f' AND u.conindid = c.conindid AND u.contype IN ('p', 'u') "
     "WHERE c.contype IN ('f', 'p', 'u')"},
    {kSchema, "constraint_column_usage",
     "SELECT DISTINCT current_database()::text AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name, "
     "a.attname "
     "AS column_name, current_database()::text AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS "
     "constraint_name FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace "
     "JOIN pg_catalog.pg_class r ON r.oid = CASE c.contype WHEN 'f' THEN c.confrelid ELSE c.conrelid END "
     "JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace "
     "JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid "
     "WHERE a.attnum = ANY (CASE c.contype WHEN 'f' THEN c.confkey ELSE c.conkey END)"},
    {kSchema, "constraint_table_usage",
     "SELECT current_database()::text AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name, "
     "current_database()::text AS "
     "constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name "
     "FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace "
     "JOIN pg_catalog.pg_class r ON r.oid = CASE c.contype WHEN 'f' THEN c.confrelid ELSE c.conrelid END "
     "JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace WHERE c.contype IN ('f', 'p', 'u')"},
    {kSchema, "sequences",
     "SELECT current_database()::text AS sequence_catalog, n.nspname AS sequence_schema, c.relname AS sequence_name, "
     "format_type(s.seqtypid, NULL) AS data_type, CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END AS "
     "numeric_precision, 2 AS numeric_precision_radix, 0 AS numeric_scale, s.seqstart::text AS start_value, "
     "s.seqmin::text AS minimum_value, s.seqmax::text AS maximum_value, s.seqincrement::text AS increment, "
     "CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END AS cycle_option FROM pg_catalog.pg_sequence s "
     "JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
     "WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 1259 AND d.objid = c.oid AND "
     "d.deptype = 'i')"},
    {kSchema, "triggers",
     "SELECT current_database()::text AS trigger_catalog, n.nspname AS trigger_schema, t.tgname AS trigger_name, "
     "e.event AS "
     "event_manipulation, current_database()::text AS event_object_catalog, n.nspname AS event_object_schema, "
     "c.relname AS "
     "event_object_table, (rank() OVER (PARTITION BY n.oid, c.oid, e.number, t.tgtype & 1, t.tgtype & 66 ORDER BY "
     "t.tgname))::int4 AS action_order, (regexp_match(pg_catalog.pg_get_triggerdef(t.oid), "
     "' WHEN \\((.+)\\) EXECUTE FUNCTION'))[1] AS action_condition, "
     "substring(pg_catalog.pg_get_triggerdef(t.oid) from strpos(pg_catalog.pg_get_triggerdef(t.oid), "
     "'EXECUTE FUNCTION')) AS action_statement, CASE t.tgtype & 1 WHEN 1 THEN 'ROW' ELSE 'STATEMENT' END AS "
     "action_orientation, CASE t.tgtype & 66 WHEN 2 THEN 'BEFORE' WHEN 64 THEN 'INSTEAD OF' ELSE 'AFTER' END AS "
     "action_timing, t.tgoldtable AS action_reference_old_table, t.tgnewtable AS action_reference_new_table, "
     "NULL::text AS action_reference_old_row, NULL::text AS action_reference_new_row, NULL::timestamptz AS created "
     "FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid "
     "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
     "JOIN (VALUES (4, 'INSERT'), (8, 'DELETE'), (16, 'UPDATE')) AS e (number, event) ON t.tgtype & e.number <> 0 "
     "WHERE NOT t.tgisinternal"},
    {kSchema, "enabled_roles",
     "SELECT r.rolname AS role_name FROM pg_catalog.pg_roles r WHERE pg_has_role(r.oid, 'USAGE')"},
    {kSchema, "applicable_roles",
     "SELECT m.rolname AS grantee, r.rolname AS role_name, CASE WHEN a.admin_option THEN 'YES' ELSE 'NO' END AS "
     "is_grantable FROM pg_catalog.pg_auth_members a JOIN pg_catalog.pg_roles m ON m.oid = a.member "
     "JOIN pg_catalog.pg_roles r ON r.oid = a.roleid WHERE pg_has_role(a.member, 'USAGE')"},
    {kSchema, "administrable_role_authorizations",
     "SELECT grantee, role_name, is_grantable FROM information_schema.applicable_roles WHERE is_grantable = 'YES'"},
    {kSchema, "role_table_grants",
     "SELECT grantor, grantee, table_catalog, table_schema, table_name, privilege_type, is_grantable, with_hierarchy "
     "FROM information_schema.table_privileges WHERE grantee <> 'PUBLIC'"},
    {kSchema, "role_column_grants",
     "SELECT grantor, grantee, table_catalog, table_schema, table_name, column_name, privilege_type, is_grantable "
     "FROM information_schema.column_privileges WHERE grantee <> 'PUBLIC'"},
    {kSchema, "column_udt_usage",
     "SELECT udt_catalog, udt_schema, udt_name, table_catalog, table_schema, table_name, column_name "
     "FROM information_schema.columns"},
    {kSchema, "column_domain_usage",
     "SELECT domain_catalog, domain_schema, domain_name, table_catalog, table_schema, table_name, column_name "
     "FROM information_schema.columns WHERE domain_name IS NOT NULL"},
    {kSchema, "domain_udt_usage",
     "SELECT udt_catalog, udt_schema, udt_name, domain_catalog, domain_schema, domain_name "
     "FROM information_schema.domains"},
    {kSchema, "element_types",
     "SELECT current_database()::text AS object_catalog, n.nspname AS object_schema, c.relname AS object_name, "
     "CASE c.relkind WHEN 'v' THEN 'TABLE' ELSE 'TABLE' END AS object_type, a.attnum::text AS "
     "collection_type_identifier, format_type(e.oid, NULL) AS data_type, current_database()::text AS udt_catalog, "
     "en.nspname AS udt_schema, e.typname AS udt_name, 'a' || a.attnum::text AS dtd_identifier "
     "FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid "
     "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
     "JOIN pg_catalog.pg_type e ON e.oid = t.typelem JOIN pg_catalog.pg_namespace en ON en.oid = e.typnamespace "
     "WHERE a.attnum > 0 AND t.typelem <> 0 AND t.typcategory = 'A' AND c.relkind IN ('r', 'v')"},
    {kSchema, "collations",
     "SELECT current_database()::text AS collation_catalog, n.nspname AS collation_schema, c.collname AS "
     "collation_name, "
     "'NO PAD'::text AS pad_attribute FROM pg_catalog.pg_collation c "
     "JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace"},
    {kSchema, "character_sets",
     "SELECT NULL::text AS character_set_catalog, NULL::text AS character_set_schema, 'UTF8'::text AS "
     "character_set_name, 'UCS'::text AS character_repertoire, 'UTF8'::text AS form_of_use, current_database()::text "
     "AS "
     "default_collate_catalog, 'pg_catalog'::text AS default_collate_schema, 'C'::text AS default_collate_name"},
    {kSchema, "foreign_tables",
     "SELECT current_database()::text AS foreign_table_catalog, n.nspname AS foreign_table_schema, c.relname AS "
     "foreign_table_name, current_database()::text AS foreign_server_catalog, s.srvname AS foreign_server_name "
     "FROM pg_catalog.pg_foreign_table t JOIN pg_catalog.pg_foreign_server s ON s.oid = t.ftserver "
     "JOIN pg_catalog.pg_class c ON c.oid = t.ftrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"},
    {kSchema, "foreign_servers",
     "SELECT current_database()::text AS foreign_server_catalog, s.srvname AS foreign_server_name, "
     "current_database()::text AS "
     "foreign_data_wrapper_catalog, w.fdwname AS foreign_data_wrapper_name, s.srvtype AS foreign_server_type, "
     "s.srvversion AS foreign_server_version, pg_get_userbyid(s.srvowner) AS authorization_identifier "
     "FROM pg_catalog.pg_foreign_server s JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid = s.srvfdw"},
};

#undef SCYPER_NOT_SYSTEM
#undef SCYPER_SYSTEM
#undef SCYPER_STAT_TABLES
#undef SCYPER_STATIO_TABLES
#undef SCYPER_INDEXES
#undef SCYPER_SCANS
#undef SCYPER_BLOCKS
#undef SCYPER_NOT_NULL_NAME
#undef SCYPER_NOT_NULL_FROM
#undef SCYPER_RULE

}  // namespace

std::string_view system_view_query(std::string_view schema, std::string_view name) {
  if (schema.empty()) schema = kCatalog;
  const auto* found = std::find_if(std::begin(kViews), std::end(kViews),
                                   [&](const SystemView& view) { return view.schema == schema && view.name == name; });
  return found == std::end(kViews) ? std::string_view() : found->query;
}

}  // namespace scyper::query
