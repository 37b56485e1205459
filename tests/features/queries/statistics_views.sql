-- Statistics that monitors read: PostgreSQL's columns. Of what there is nothing of here the views have no rows.
SELECT archived_count, failed_count, last_archived_wal FROM pg_stat_archiver;
SELECT count(*) FROM pg_stat_database_conflicts WHERE confl_deadlock > 0;
SELECT count(*) FROM (SELECT checkpoints_timed, buffers_clean, stats_reset FROM pg_stat_bgwriter) b;
SELECT count(*) FROM (SELECT wal_records, wal_bytes FROM pg_catalog.pg_stat_wal) w;
SELECT slot_name, plugin, active FROM pg_replication_slots;
SELECT pid, state, sent_lsn FROM pg_stat_replication;
SELECT pid, phase, heap_blks_total FROM pg_stat_progress_vacuum;
SELECT relname, blks_read FROM pg_statio_user_sequences WHERE relname = 'none';
SELECT nothing FROM pg_stat_wal;
