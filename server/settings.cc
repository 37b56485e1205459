#include <array>
#include <limits>

#include "commit_modes.h"
#include "setting_kinds.h"

namespace scyper::server {

namespace {

std::vector<Setting> server_settings() {
  constexpr uint64_t kMs = 1000;
  return {
      text_setting("listen", "host:port of gRPC; port 0 picks a free one", SCYPER_FIELD(server.listen)),
      text_setting("unix_socket", "file of a Unix socket for gRPC clients of this machine, beside listen; empty = none",
                   SCYPER_FIELD(server.unix_socket)),
      text_setting(
          "unix_socket_permissions",
          "permissions of that file and of postgres_socket_directory's, in octal; who may write it may connect",
          SCYPER_FIELD(server.unix_socket_permissions)),
      text_setting("http_listen",
                   "host:port of the web page, /metrics, /healthz, /readyz, /primary and /replica; empty = none",
                   SCYPER_FIELD(server.http_listen)),
      text_setting("postgres_listen", "host:port for PostgreSQL's clients; port 0 picks a free one; empty = none",
                   SCYPER_FIELD(server.postgres_listen)),
      text_setting(
          "postgres_socket_directory",
          "directory of a Unix socket for PostgreSQL's clients of this machine (.s.PGSQL.PORT, with the port of "
          "postgres_listen); psql -h takes it; empty = none",
          SCYPER_FIELD(server.postgres_socket_directory)),
      text_setting("postgres_users",
                   "file with the users who may come there, a name:password or name:SCRAM verifier per line; empty = "
                   "without passwords, from this machine only",
                   SCYPER_FIELD(server.postgres_users)),
      number_setting("postgres_connections_max", "PostgreSQL's clients at once", 1, 10'000,
                     SCYPER_FIELD(server.postgres_connections_max)),
      number_setting("postgres_superuser_connections",
                     "of these, the last ones that only superusers get; one at least "
                     "is for everybody",
                     0, 10'000, SCYPER_FIELD(server.postgres_superuser_connections)),
      number_setting("postgres_statements_max", "prepared statements of one of them", 1, 1'000'000,
                     SCYPER_FIELD(server.postgres_statements_max)),
      quantity_setting("postgres_authentication_timeout", "time for one of them to say who it is", parse_duration_us,
                       format_duration_us, kMs, kMs, SCYPER_FIELD(server.postgres_authentication_timeout_ms)),
      text_setting("tls_cert", "PEM file with the node's certificate chain", SCYPER_FIELD(server.tls_cert)),
      text_setting("tls_key", "PEM file with its private key", SCYPER_FIELD(server.tls_key)),
      text_setting("tls_client_ca", "PEM file; clients must show a certificate signed by it",
                   SCYPER_FIELD(server.tls_client_ca)),
      switch_setting("authorization",
                     "by gRPC, the role that a client's certificate names decides what it may call (needs "
                     "tls_client_ca); it begins to count when a superuser has a password",
                     SCYPER_FIELD(server.authorization)),
      text_setting("audit_log", "file for a line of JSON per administrative act; empty = standard error",
                   SCYPER_FIELD(server.audit_log)),
      switch_setting("insecure_listen", "listen beyond loopback without TLS", SCYPER_FIELD(server.insecure_listen)),
      switch_setting("insecure_http", "serve plain HTTP (http_listen) beyond loopback, all else with TLS",
                     SCYPER_FIELD(server.insecure_http)),
  };
}

// Of the same section.
std::vector<Setting> service_settings() {
  constexpr uint64_t kMs = 1000;
  return {
      number_setting("grpc_threads", "threads that serve transaction streams", 1, 256,
                     SCYPER_FIELD(server.grpc_threads)),
      number_setting("query_threads", "threads that wait for queries on snapshots", 1, 1024,
                     SCYPER_FIELD(server.query_threads)),
      number_setting("statement_threads", "threads that run and compile statements", 1, 1024,
                     SCYPER_FIELD(server.statement_threads)),
      number_setting("statement_queue", "statements that wait for such a thread", 1, 1'000'000,
                     SCYPER_FIELD(server.statement_queue)),
      quantity_setting("message_bytes_max", "largest message of gRPC that is accepted", parse_bytes, format_bytes, 1,
                       1024, SCYPER_FIELD(server.message_bytes_max)),
      quantity_setting("postgres_message_bytes_max",
                       "largest message of a PostgreSQL client: a statement, or its parameters", parse_bytes,
                       format_bytes, 1, 1024, SCYPER_FIELD(server.postgres_message_bytes_max)),
      quantity_setting("cursor_memory", "rows of a session's cursors with SCROLL or WITH HOLD", parse_bytes,
                       format_bytes, 1, 1024, SCYPER_FIELD(server.cursor_memory)),
      number_setting("stream_calls_max", "unanswered calls per stream before it is not read", 1, 10'000'000,
                     SCYPER_FIELD(server.stream_calls_max)),
      number_setting("batch_calls_max", "calls per message", 1, 1'000'000, SCYPER_FIELD(server.batch_calls_max)),
      number_setting("streams_max", "open transaction streams", 1, 1'000'000, SCYPER_FIELD(server.streams_max)),
      number_setting("grpc_transactions_max", "open transactions of several statements by gRPC, each with a thread", 1,
                     10'000, SCYPER_FIELD(server.grpc_transactions_max)),
      number_setting("prepared_max", "prepared statements the node remembers", 1, 10'000'000,
                     SCYPER_FIELD(server.prepared_max)),
      quantity_setting("prepared_memory",
                       "memory of these, about; beyond it the one that was not used for longest is forgotten",
                       parse_bytes, format_bytes, 1, uint64_t{1} << 20, SCYPER_FIELD(server.prepared_bytes_max)),
      quantity_setting("grpc_memory",
                       "memory of gRPC's buffers; near it gRPC reads slower and ends calls (RESOURCE_EXHAUSTED); 0 = 1 "
                       "GB, or 256 of the largest messages where that is more",
                       parse_bytes, format_bytes, 1, 0, SCYPER_FIELD(server.grpc_memory_bytes)),
      quantity_setting("ready_commit", "time for a commit to be confirmed; beyond it /readyz says no",
                       parse_duration_us, format_duration_us, kMs, kMs, SCYPER_FIELD(server.ready_commit_ms)),
      quantity_setting("stop_timeout", "time for accepted work when the node stops", parse_duration_us,
                       format_duration_us, kMs, 0, SCYPER_FIELD(server.stop_timeout_ms)),
  };
}

std::vector<Setting> query_settings() {
  return {
      text_setting("node_name", "name of the node in receipts", SCYPER_FIELD(engine.queries.node)),
      number_setting("query_concurrency", "queries that run at once; others wait in a fair order", 1, 1024,
                     SCYPER_FIELD(engine.queries.running_max)),
      number_setting("query_queue", "queries that wait", 0, 1'000'000, SCYPER_FIELD(engine.queries.waiting_max)),
      quantity_setting("query_memory", "intermediate results of a query", parse_bytes, format_bytes, 1, 1 << 20,
                       SCYPER_FIELD(engine.queries.query_bytes_max)),
      quantity_setting("query_spill", "temporary files of a query that needs more memory; 0 = none", parse_bytes,
                       format_bytes, 1, 0, SCYPER_FIELD(engine.queries.snapshots.spill_bytes_max)),
      text_setting("spill_directory", "of temporary files of queries; empty = data_directory, else the system's",
                   SCYPER_FIELD(engine.queries.snapshots.spill_directory)),
      text_setting("foreign_files_directory", "files that foreign tables may read; empty = none",
                   SCYPER_FIELD(engine.queries.foreign_files_directory)),
      quantity_setting("session_idle_max", "a query session unused for so long gives its snapshot back",
                       parse_duration_us, format_duration_us, 1, 1000,
                       SCYPER_FIELD(engine.queries.session_idle_us_max)),
      number_setting("snapshots_max", "snapshots at once", 1, 1000, SCYPER_FIELD(engine.queries.snapshots.count_max)),
      quantity_setting("snapshot_age_max", "older snapshots are dropped, even in use", parse_duration_us,
                       format_duration_us, 1, 1000, SCYPER_FIELD(engine.queries.snapshots.age_us_max)),
      quantity_setting("snapshot_unused_max", "a snapshot unused for so long is dropped", parse_duration_us,
                       format_duration_us, 1, 1000, SCYPER_FIELD(engine.queries.snapshots.unused_us_max)),
      quantity_setting("snapshot_memory", "pages copied for snapshots; beyond it the oldest is dropped", parse_bytes,
                       format_bytes, 1, 1 << 20, SCYPER_FIELD(engine.queries.snapshots.copied_bytes_max)),
      quantity_setting("snapshot_period", "a new snapshot so often; 0 = on demand", parse_duration_us,
                       format_duration_us, 1, 0, SCYPER_FIELD(engine.queries.snapshots.period_us)),
      quantity_setting("snapshot_distance", "least time between two snapshots", parse_duration_us, format_duration_us,
                       1, 0, SCYPER_FIELD(engine.queries.snapshots.distance_us_min)),
      number_setting("query_nice", "nice level of queries beside the workers' 0", 0, 19,
                     SCYPER_FIELD(engine.queries.snapshots.nice)),
      choice_setting("fork", "where transactions stop for a snapshot",
                     std::array{std::pair{"changes", primary::ForkMode::kActionConsistent},
                                std::pair{"transactions", primary::ForkMode::kQuiesced}},
                     SCYPER_FIELD(engine.fork_mode)),
  };
}

std::vector<Setting> engine_settings() {
  using primary::ExecutionMode;
  using primary::RedoMode;
  using storage::Layout;
  using storage::PageMode;
  return {
      number_setting("partitions", "partitions of the database", 1, 4096, SCYPER_FIELD(engine.partitions)),
      number_setting("workers", "worker threads; partition p belongs to worker p % workers", 1, 1024,
                     SCYPER_FIELD(engine.workers)),
      quantity_setting("memory", "memory budget of tables and indexes", parse_bytes, format_bytes, 1, 1 << 20,
                       SCYPER_FIELD(engine.memory_bytes)),
      choice_setting("pages", "pages of that memory",
                     std::array{std::pair{"huge", PageMode::kTransparentHuge},
                                std::pair{"reserved", PageMode::kReservedHuge}, std::pair{"small", PageMode::kSmall}},
                     SCYPER_FIELD(engine.page_mode)),
      quantity_setting("copy_ahead_rate",
                       "reserved pages: bytes per second copied ahead of transactions after a fork; 0 = none",
                       parse_bytes, format_bytes, 1, 0, SCYPER_FIELD(engine.copy_ahead_rate)),
      choice_setting("layout", "of tables that do not say it",
                     std::array{std::pair{"column", Layout::kColumn}, std::pair{"row", Layout::kRow}},
                     SCYPER_FIELD(engine.layout)),
      choice_setting("execution", "how statements run",
                     std::array{std::pair{"adaptive", ExecutionMode::kAdaptive},
                                std::pair{"interpreted", ExecutionMode::kInterpreted},
                                std::pair{"quick", ExecutionMode::kQuick}, std::pair{"better", ExecutionMode::kBetter}},
                     SCYPER_FIELD(engine.execution)),
      choice_setting("redo", "kind of redo records",
                     std::array{std::pair{"logical", RedoMode::kLogical}, std::pair{"physical", RedoMode::kPhysical},
                                std::pair{"none", RedoMode::kNone}},
                     SCYPER_FIELD(engine.redo)),
      number_setting("queue_capacity", "transactions that wait per worker", 1, 10'000'000,
                     SCYPER_FIELD(engine.queue_capacity)),
      quantity_setting("transaction_time_max", "run time of a transaction", parse_duration_us, format_duration_us, 1,
                       1000, SCYPER_FIELD(engine.transaction_time_us_max)),
      quantity_setting("short_read_time_max",
                       "run time of a query on a worker; longer ones run on a snapshot; 0 = all do", parse_duration_us,
                       format_duration_us, 1, 0, SCYPER_FIELD(engine.short_read_us_max)),
      quantity_setting("block_changes_max", "changes of a block of BEGIN ... COMMIT; a larger one runs alone",
                       parse_bytes, format_bytes, 1, 0, SCYPER_FIELD(engine.block_redo_bytes_max)),
      quantity_setting("block_repeated_max",
                       "changes that the statements of a block have applied again; beyond, the block runs alone",
                       parse_bytes, format_bytes, 1, 0, SCYPER_FIELD(engine.block_applied_bytes_max)),
      number_setting("block_locked_rows_max", "rows that one statement of a block locks; beyond, the block runs alone",
                     0, 100'000'000, SCYPER_FIELD(engine.block_locked_rows_max)),
      quantity_setting("copy_memory", "rows of COPYs whose text is coming, of all together", parse_bytes, format_bytes,
                       1, 1 << 20, SCYPER_FIELD(engine.copy_bytes_max)),
      quantity_setting("transaction_memory", "intermediate results of a transaction; 0 = a quarter of memory",
                       parse_bytes, format_bytes, 1, 0, SCYPER_FIELD(engine.scratch_bytes_max)),
      quantity_setting("redo_bytes_max", "redo of a transaction", parse_bytes, format_bytes, 1, 4096,
                       SCYPER_FIELD(engine.redo_bytes_max)),
  };
}

std::pair<const char*, storage::EvictionPolicy> named(storage::EvictionPolicy policy) {
  return {storage::policy_name(policy), policy};
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The list's parts, without blanks around them; of an empty text none.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.push_back(trimmed(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  parts.push_back(trimmed(text));
  return parts;
}

constexpr std::array kEvictionPolicies = {storage::EvictionPolicy::kFifo, storage::EvictionPolicy::kLru,
                                          storage::EvictionPolicy::kLirs};
constexpr size_t kTierCacheBytesMin = 16 * storage::FrozenTier::kPageBytes;
constexpr size_t kTierCachesMax = 15;

// name:size or name:size:policy.
StatusOr<storage::TierCacheOptions> parse_tier_cache(std::string_view text) {
  const std::vector<std::string_view> parts = parts_of(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || !storage::is_cache_name(parts[0])) {
    return absl::InvalidArgumentError(quote(text) + " is not a cache such as history:1GB or history:1GB:lru");
  }
  storage::TierCacheOptions cache;
  cache.name = std::string(parts[0]);
  SCYPER_ASSIGN_OR_RETURN(cache.bytes, parse_bytes(parts[1]));
  if (cache.bytes < kTierCacheBytesMin) {
    return absl::InvalidArgumentError(quote(text) + " is too small; the least is " + format_bytes(kTierCacheBytesMin));
  }
  if (parts.size() == 2) return cache;
  for (const storage::EvictionPolicy policy : kEvictionPolicies) {
    cache.policy = policy;
    if (parts[2] == storage::policy_name(policy)) return cache;
  }
  return absl::InvalidArgumentError(quote(parts[2]) + " is not one of fifo, lru, lirs");
}

Status parse_tier_caches(std::string_view text, storage::FrozenTierOptions* tier) {
  tier->caches.clear();
  for (const std::string_view part : parts_of(text, ',')) {
    SCYPER_ASSIGN_OR_RETURN(storage::TierCacheOptions cache, parse_tier_cache(part));
    if (cache.name == storage::kDefaultCache) {
      return absl::InvalidArgumentError(quote(cache.name) + " is the cache of tier_cache and tier_policy");
    }
    if (storage::has_cache(*tier, cache.name)) {
      return absl::InvalidArgumentError(quote(cache.name) + " is there twice");
    }
    tier->caches.push_back(std::move(cache));
    if (tier->caches.size() > kTierCachesMax) {
      return absl::InvalidArgumentError("there are at most " + std::to_string(kTierCachesMax) + " caches");
    }
  }
  return Status();
}

Setting tier_caches_setting(std::string key, std::string help) {
  return {std::move(key), std::move(help), false,
          [](NodeConfig* config, std::string_view text) {
            return parse_tier_caches(text, &config->engine.compaction.tier);
          },
          [](const NodeConfig& config) {
            std::string text;
            for (const storage::TierCacheOptions& cache : config.engine.compaction.tier.caches) {
              text += (text.empty() ? "" : ", ") + cache.name + ":" + format_bytes(cache.bytes) + ":" +
                      storage::policy_name(cache.policy);
            }
            return quote(text);
          }};
}

std::vector<Setting> compaction_settings() {
  using replay::CompactionMode;
  return {
      choice_setting("compaction", "cold chunks of tables are compressed; forced, for tests: all that there is",
                     std::array{std::pair{"off", CompactionMode::kOff}, std::pair{"on", CompactionMode::kOn},
                                std::pair{"forced", CompactionMode::kForced}},
                     SCYPER_FIELD(engine.compaction.mode)),
      quantity_setting("frozen_memory", "memory budget of compressed chunks, beside memory", parse_bytes, format_bytes,
                       1, 1 << 20, SCYPER_FIELD(engine.compaction.frozen_bytes_max)),
      choice_setting("access_observer", "what tells compaction which chunks are cold (docs/access_observer.md)",
                     std::array<std::pair<const char*, std::string>, 5>{{{"auto", "auto"},
                                                                         {"module", "module"},
                                                                         {"pagemap", "pagemap"},
                                                                         {"mprotect", "mprotect"},
                                                                         {"counters", "counters"}}},
                     SCYPER_FIELD(engine.compaction.observer)),
      quantity_setting("compaction_window",
                       "what nobody touches in two of these is cold (three, where reads are not seen)",
                       parse_duration_us, format_duration_us, 1, 1000, SCYPER_FIELD(engine.compaction.window_us)),
      text_setting(
          "tier_directory",
          "data of compressed chunks beyond tier_memory goes to files there (docs/tiering.md), which are of this "
          "node alone; empty = it stays in memory",
          SCYPER_FIELD(engine.compaction.tier.directory)),
      quantity_setting("tier_memory",
                       "compressed chunks in memory before data goes to the tier; 0, for tests: all goes", parse_bytes,
                       format_bytes, 1, 0, SCYPER_FIELD(engine.compaction.tier.memory_bytes)),
      quantity_setting("tier_cache", "cache of the tier's pages, taken when the node starts", parse_bytes, format_bytes,
                       1, kTierCacheBytesMin, SCYPER_FIELD(engine.compaction.tier.cache_bytes)),
      choice_setting("tier_policy", "which pages of that cache go first (docs/tiering.md)",
                     std::array{named(storage::EvictionPolicy::kFifo), named(storage::EvictionPolicy::kLru),
                                named(storage::EvictionPolicy::kLirs)},
                     SCYPER_FIELD(engine.compaction.tier.cache_policy)),
      tier_caches_setting("tier_caches",
                          "more such caches, which tables choose WITH (tier_cache = 'name'): name:size or "
                          "name:size:policy, separated by commas, such as history:1GB, small:64MB:lru"),
      switch_setting("tier_learning",
                     "with tier_directory: hot data views are learned from what statements ask (docs/tiering.md)",
                     SCYPER_FIELD(engine.compaction.tier.learns)),
  };
}

std::vector<Setting> log_settings() {
  constexpr uint64_t kMinSegment = 1 << 20;
  return {
      text_setting("data_directory", "log and archives of the database; empty = it ends with the process",
                   SCYPER_FIELD(engine.log.directory)),
      choice_setting("commit_mode", "what a commit waits for", kCommitModes, SCYPER_FIELD(engine.log.mode)),
      quantity_setting("segment_bytes", "size of a file of the log", parse_bytes, format_bytes, 1, kMinSegment,
                       SCYPER_FIELD(engine.log.segment_bytes)),
      number_setting("request_window", "committed requests that are remembered: one that is sent again is done once", 1,
                     100'000'000, SCYPER_FIELD(engine.log.request_window)),
      quantity_setting("client_id_ahead_max", "how far client ids of requests may be ahead of the node's clock",
                       parse_duration_us, format_duration_us, 1, 0, SCYPER_FIELD(engine.log.client_id_ahead_us_max)),
      quantity_setting("batch_bytes", "redo after which a batch is closed", parse_bytes, format_bytes, 1, 4096,
                       SCYPER_FIELD(engine.log.batch_bytes)),
      quantity_setting("commit_delay", "commit mode local: time that a batch waits for more commits", parse_duration_us,
                       format_duration_us, 1, 0, SCYPER_FIELD(engine.log.commit_delay_us)),
      quantity_setting("async_delay", "commit mode async: what a crash may lose", parse_duration_us, format_duration_us,
                       1, 100, SCYPER_FIELD(engine.log.async_delay_us)),
      quantity_setting("log_retention", "log kept beyond what the archives need, for point-in-time restores",
                       parse_bytes, format_bytes, 1, 0, SCYPER_FIELD(engine.log.retention_bytes)),
      quantity_setting("archive_after", "log after which an archive is written; 0 = only by scyper backup", parse_bytes,
                       format_bytes, 1, 0, SCYPER_FIELD(engine.log.archive_log_bytes)),
      quantity_setting("archive_rate", "bytes per second of an archive being written; 0 = no bound", parse_bytes,
                       format_bytes, 1, 0, SCYPER_FIELD(engine.log.archive_rate)),
      number_setting("archives_kept", "archives in the data directory; the log is kept from the oldest on", 1, 1000,
                     SCYPER_FIELD(engine.log.archives_kept)),
      number_setting("recovery_threads", "threads of recovery; 0 = as many as workers", 0, 256,
                     SCYPER_FIELD(engine.log.recovery_threads)),
      switch_setting("log_compression", "LZ4 in the log", SCYPER_FIELD(engine.log.compresses)),
      switch_setting("shadow_redo",
                     "for tests: a second database replays each group of the log before its commits are acknowledged; "
                     "needs the memory of the tables twice",
                     SCYPER_FIELD(engine.log.shadows_redo)),
  };
}

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> kAll = [] {
    std::vector<Setting> all;
    auto add = [&all](const char* group, std::vector<Setting> more) {
      for (Setting& setting : more) {
        setting.group = group;
        all.push_back(std::move(setting));
      }
    };
    add("Clients and network", server_settings());
    add("Clients and network", service_settings());
    add("Transactions and memory", engine_settings());
    add("Compaction", compaction_settings());
    add("Log and archives", log_settings());
    add("Replication", replication_settings());
    add("Multicast", multicast_settings());
    add("Elections", cluster_settings());
    add("Queries and snapshots", query_settings());
    return all;
  }();
  return kAll;
}

const Setting* find_setting(std::string_view key) {
  for (const Setting& setting : settings()) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

}  // namespace scyper::server
