#include "counters.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "node_parts.h"
#include "query/queries.h"
#include "replication/stages.h"
#include "storage/frozen_tier.h"

namespace scyper::server {

namespace {
constexpr char kCalls[] = "scyper_server_calls_total";
constexpr char kCallsHelp[] = "Calls and statements that run as transactions, answered, by outcome.";
}  // namespace

RequestTimes::RequestTimes(MetricsRegistry* registry) {
  constexpr std::array<const char*, 4> kProtocols = {"stream", "call", "execute", "postgres"};
  constexpr std::array<const char*, 2> kKinds = {"transaction", "query"};
  constexpr std::array<const char*, 2> kOutcomes = {"error", "ok"};
  for (size_t protocol = 0; protocol < kProtocols.size(); ++protocol) {
    const bool has_queries = protocol >= static_cast<size_t>(RequestProtocol::kExecute);
    for (size_t kind = 0; kind < (has_queries ? kKinds.size() : 1); ++kind) {
      for (size_t outcome = 0; outcome < kOutcomes.size(); ++outcome) {
        by_protocol_[protocol][kind][outcome] = &registry->timer(
            "scyper_server_request_duration_seconds",
            "From the arrival of a message of calls, a call or a statement to its last result.",
            {{"protocol", kProtocols[protocol]}, {"kind", kKinds[kind]}, {"outcome", kOutcomes[outcome]}});
      }
    }
  }
}

void RequestTimes::note(RequestProtocol protocol, RequestKind kind, bool is_ok, int64_t began_ns) const {
  Timer* timer = by_protocol_[static_cast<size_t>(protocol)][static_cast<size_t>(kind)][is_ok ? 1 : 0];
  timer->record_ns(static_cast<uint64_t>(monotonic_ns() - began_ns));
}

Status ServerCounters::count_call(RequestProtocol protocol, std::string_view sql, const std::function<Status()>& run) {
  const int64_t began_ns = monotonic_ns();
  calls_open.add(1);
  Status status = run();
  calls_open.add(-1);
  (status.ok() ? calls_ok : calls_failed).add(1);
  requests.note(protocol, RequestKind::kTransaction, status.ok(), began_ns);
  query::SlowQuery slow;
  slow.total_ms = static_cast<double>(monotonic_ns() - began_ns) / 1e6;
  slow.time_us = RealClock().now_us();
  slow.is_answered = status.ok();
  slow_transactions.note(sql.size() > query::SlowQuery::kTextBytesMax ? std::string_view() : sql, std::move(slow));
  return status;
}

ServerCounters::ServerCounters(MetricsRegistry* r)
    : calls_ok(r->counter(kCalls, kCallsHelp, {{"outcome", "ok"}})),
      calls_failed(r->counter(kCalls, kCallsHelp, {{"outcome", "error"}})),
      unary_calls(r->counter("scyper_server_unary_calls_total", "Calls that came one by one.")),
      statements(r->counter("scyper_server_statements_total", "Execute requests.")),
      batches(r->counter("scyper_server_batches_total", "Messages of calls received on streams.")),
      result_messages(r->counter("scyper_server_result_messages_total", "Messages of results sent on streams.")),
      reads_paused(r->counter("scyper_server_reads_paused_total",
                              "Times that a stream was not read because too much was unanswered.")),
      streams_opened(r->counter("scyper_server_streams_opened_total", "Transaction streams opened.")),
      streams_broken(r->counter("scyper_server_streams_broken_total",
                                "Transaction streams that ended by disconnection or a malformed message.")),
      rows_loaded(r->counter("scyper_server_rows_loaded_total", "Rows taken by Load.")),
      streams_open(r->gauge("scyper_server_streams_open", "Transaction streams open now.")),
      calls_open(r->gauge("scyper_server_calls_open",
                          "Calls and statements that run as transactions, accepted and not yet answered.")),
      requests(r),
      query_stage(r->timer(replication::kStageMetric, replication::kStageHelp, {{"stage", "query"}})) {}

namespace {

void observe_queries(MetricsRegistry* registry, query::Queries* queries,
                     std::vector<MetricsRegistry::Registration>* all) {
  using Counters = query::Queries::Counters;
  auto show = [&](const char* name, const char* help, MetricType type, double (*read)(const Counters&)) {
    all->push_back(registry->observe(name, help, type, {}, [queries, read] { return read(queries->counters()); }));
  };
  constexpr MetricType kCounter = MetricType::kCounter, kGauge = MetricType::kGauge;
  show("scyper_queries_started_total", "Queries started on snapshots.", kCounter,
       [](const Counters& c) { return static_cast<double>(c.started); });
  show("scyper_queries_refused_total", "Queries that found too many waiting, or waited too long for their turn.",
       kCounter, [](const Counters& c) { return static_cast<double>(c.refused); });
  show("scyper_queries_swapped_total", "Queries that went on in better code while they ran.", kCounter,
       [](const Counters& c) { return static_cast<double>(c.swapped); });
  show("scyper_queries_answered_total", "Queries answered to their last row.", kCounter,
       [](const Counters& c) { return static_cast<double>(c.answered); });
  show("scyper_queries_broken_total", "Queries that failed or were cancelled while they ran.", kCounter,
       [](const Counters& c) { return static_cast<double>(c.broken); });
  show("scyper_query_memory_bytes_total", "Memory of queries that have ended: what each used at most, added up.",
       kCounter, [](const Counters& c) { return static_cast<double>(c.memory_bytes); });
  show("scyper_query_memory_bytes_max", "Memory of the query that used most.", kGauge,
       [](const Counters& c) { return static_cast<double>(c.memory_bytes_max); });
  show("scyper_query_spilled_bytes_total", "Bytes that queries wrote to temporary files.", kCounter,
       [](const Counters& c) { return static_cast<double>(c.spilled_bytes); });
  show("scyper_queries_running", "Queries running now.", kGauge,
       [](const Counters& c) { return static_cast<double>(c.running); });
  show("scyper_queries_waiting", "Queries waiting for their turn.", kGauge,
       [](const Counters& c) { return static_cast<double>(c.waiting); });
  show("scyper_query_sessions", "Sessions that pin a snapshot.", kGauge,
       [](const Counters& c) { return static_cast<double>(c.sessions); });
  show("scyper_snapshots_forked_total", "Snapshots made.", kCounter,
       [](const Counters& c) { return static_cast<double>(c.snapshots.forks); });
  show("scyper_snapshots_lost_total", "Snapshots that died or were killed by a cap.", kCounter,
       [](const Counters& c) { return static_cast<double>(c.snapshots.lost); });
  show("scyper_snapshots_live", "Snapshots that exist now.", kGauge,
       [](const Counters& c) { return static_cast<double>(c.snapshots.live); });
  show("scyper_snapshot_copied_bytes",
       "Memory that live snapshots share with nobody: pages changed since, and their own.", kGauge,
       [](const Counters& c) { return static_cast<double>(c.snapshots.copied_bytes); });
  show("scyper_snapshot_oldest_timestamp_seconds", "When the oldest live snapshot was made; 0: there is none.", kGauge,
       [](const Counters& c) {
         if (c.snapshots.live == 0) return 0.0;
         return static_cast<double>(RealClock().now_us() - c.snapshots.oldest_age_us) / 1e6;
       });
  show("scyper_snapshot_fork_seconds_total", "Time spent in fork().", kCounter,
       [](const Counters& c) { return static_cast<double>(c.snapshots.fork_ns) / 1e9; });
  show("scyper_snapshot_stall_seconds_total", "Time in which no transaction could run because of a fork.", kCounter,
       [](const Counters& c) { return static_cast<double>(c.snapshots.stall_ns) / 1e9; });
  show("scyper_snapshot_stall_seconds_max", "Longest such time.", kGauge,
       [](const Counters& c) { return static_cast<double>(c.snapshots.stall_ns_max) / 1e9; });
}

// Where there is none: no such metrics.
void observe_compaction(MetricsRegistry* registry, primary::Engine* engine,
                        std::vector<MetricsRegistry::Registration>* all) {
  if (engine->compaction() == nullptr) return;
  using replay::Compaction;
  auto show = [&](const char* name, const char* help, MetricType type, MetricLabels labels,
                  double (*read)(const Compaction&)) {
    all->push_back(registry->observe(name, help, type, std::move(labels), [engine, read] {
      const Compaction* compaction = engine->compaction();  // goes when the node becomes primary
      return compaction == nullptr ? 0 : read(*compaction);
    }));
  };
  constexpr MetricType kCounter = MetricType::kCounter, kGauge = MetricType::kGauge;
  constexpr char kChunks[] = "scyper_compaction_chunks_total";
  constexpr char kChunksHelp[] =
      "Chunks that began to cool, became hot again while they did, became cold, were frozen, became hot again in all, "
      "were emptied, found no frozen memory, were asked for hot data views, matter to none of them.";
  show(kChunks, kChunksHelp, kCounter, {{"step", "cooling"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().cooling); });
  show(kChunks, kChunksHelp, kCounter, {{"step", "reheated"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().reheated); });
  show(kChunks, kChunksHelp, kCounter, {{"step", "cooled"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().cooled); });
  show(kChunks, kChunksHelp, kCounter, {{"step", "frozen"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().frozen); });
  show(kChunks, kChunksHelp, kCounter, {{"step", "returned"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().returned); });
  show(kChunks, kChunksHelp, kCounter, {{"step", "emptied"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().emptied); });
  show(kChunks, kChunksHelp, kCounter, {{"step", "without_memory"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().without_memory); });
  show(kChunks, kChunksHelp, kCounter, {{"step", "placed"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().placed); });
  show(kChunks, kChunksHelp, kCounter, {{"step", "irrelevant"}},
       [](const Compaction& c) { return static_cast<double>(c.counts().irrelevant); });
  show("scyper_compaction_moved_tuples_total", "Tuples moved out of frozen chunks that had lost many.", kCounter, {},
       [](const Compaction& c) { return static_cast<double>(c.counts().moved); });
  show("scyper_compaction_windows_total", "Windows of the access observer that have ended.", kCounter,
       {{"observer", std::string(engine->compaction()->observer())}},
       [](const Compaction& c) { return static_cast<double>(c.counts().windows); });
  show("scyper_compaction_failed_windows_total", "Windows of which the access observer could not tell all.", kCounter,
       {}, [](const Compaction& c) { return static_cast<double>(c.counts().failed_windows); });
  show("scyper_compaction_watched_chunks", "Chunks that the access observer watches.", kGauge, {},
       [](const Compaction& c) { return static_cast<double>(c.counts().watched); });
  show("scyper_compaction_freeze_seconds_total", "Time of the compactor's thread in making images.", kCounter, {},
       [](const Compaction& c) { return static_cast<double>(c.counts().freeze_ns) / 1e9; });
  show("scyper_compaction_observer_seconds_total", "Time of the compactor's thread in ending windows of the observer.",
       kCounter, {}, [](const Compaction& c) { return static_cast<double>(c.counts().observe_ns) / 1e9; });
  show("scyper_compaction_step_seconds_total", "Time of transactions' threads in steps of compaction.", kCounter, {},
       [](const Compaction& c) { return static_cast<double>(c.step_ns()) / 1e9; });
  show("scyper_frozen_memory_used_bytes", "Memory of frozen chunks.", kGauge, {},
       [](const Compaction& c) { return static_cast<double>(c.memory().used_bytes); });
  show("scyper_frozen_memory_retired_bytes", "Of that, what only snapshots see.", kGauge, {},
       [](const Compaction& c) { return static_cast<double>(c.memory().retired_bytes); });
  show("scyper_frozen_memory_budget_bytes", "Budget of the memory of frozen chunks.", kGauge, {},
       [](const Compaction& c) { return static_cast<double>(c.memory_budget_bytes()); });
}

// Hot data views that are learned.
void observe_learning(MetricsRegistry* registry, primary::Engine* engine,
                      std::vector<MetricsRegistry::Registration>* all) {
  if (engine->compaction() == nullptr || engine->compaction()->tier() == nullptr) return;
  if (!engine->compaction()->tier()->learns()) return;
  using replay::Compaction;
  auto show = [&](const char* name, const char* help, MetricType type, MetricLabels labels,
                  std::function<uint64_t(const Compaction&)> read) {
    all->push_back(registry->observe(name, help, type, std::move(labels), [engine, read = std::move(read)] {
      const Compaction* compaction = engine->compaction();  // goes when the node becomes primary
      return compaction == nullptr ? 0 : static_cast<double>(read(*compaction));
    }));
  };
  for (const storage::Workload workload : {storage::Workload::kTransactions, storage::Workload::kAnalytics}) {
    const MetricLabels labels = {{"workload", storage::workload_name(workload)}};
    show("scyper_tier_learned_views", "Hot data views that were learned and are in use.", MetricType::kGauge, labels,
         [workload](const Compaction& c) { return c.learning(workload).views; });
    show("scyper_tier_learning_samples", "Scans that are remembered to learn hot data views.", MetricType::kGauge,
         labels, [workload](const Compaction& c) { return c.learning(workload).samples; });
  }
  constexpr char kChanges[] = "scyper_tier_learned_view_changes_total";
  constexpr char kChangesHelp[] = "Hot data views that were learned, and given up.";
  show(kChanges, kChangesHelp, MetricType::kCounter, {{"change", "adopted"}},
       [](const Compaction& c) { return c.views_adopted(); });
  show(kChanges, kChangesHelp, MetricType::kCounter, {{"change", "given_up"}},
       [](const Compaction& c) { return c.views_given_up(); });
}

// Of the tier: what tells a value, by a function of it. Where there is none any more: 0.
class TierMetrics {
 public:
  using Read = std::function<uint64_t(storage::FrozenTier*)>;
  TierMetrics(MetricsRegistry* registry, primary::Engine* engine, std::vector<MetricsRegistry::Registration>* all)
      : registry_(registry), engine_(engine), all_(all) {}

  void show(const char* name, const char* help, MetricType type, MetricLabels labels, Read read) {
    all_->push_back(registry_->observe(name, help, type, std::move(labels), [engine = engine_, read = std::move(read)] {
      const replay::Compaction* compaction = engine->compaction();  // goes when the node becomes primary
      return compaction == nullptr ? 0 : static_cast<double>(read(compaction->tier()));
    }));
  }

 private:
  MetricsRegistry* const registry_;
  primary::Engine* const engine_;
  std::vector<MetricsRegistry::Registration>* const all_;
};

// What a cache says takes its lock and a look at all frames: once for all values that are read at one time.
class CacheSnapshot {
 public:
  explicit CacheSnapshot(uint32_t number) : number_(number) {}

  storage::PageCacheStatistics read(storage::FrozenTier* tier) {
    constexpr auto kSameTime = std::chrono::milliseconds(100);
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (number_ < tier->caches().count() && now - read_at_ > kSameTime) {
      statistics_ = tier->caches().cache(number_)->statistics();
      read_at_ = now;
    }
    return statistics_;
  }

 private:
  const uint32_t number_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point read_at_;
  storage::PageCacheStatistics statistics_;
};

void observe_tier_cache(TierMetrics* metrics, const std::string& name, uint32_t number) {
  using storage::PageCacheStatistics;
  const auto snapshot = std::make_shared<CacheSnapshot>(number);
  const auto show = [&](const char* metric, const char* help, MetricType type, MetricLabels labels,
                        uint64_t (*read)(const PageCacheStatistics&)) {
    labels.push_back({"cache", name});
    metrics->show(metric, help, type, std::move(labels),
                  [snapshot, read](storage::FrozenTier* tier) { return read(snapshot->read(tier)); });
  };
  constexpr MetricType kCounter = MetricType::kCounter, kGauge = MetricType::kGauge;
  show("scyper_tier_cache_bytes", "The tier's page caches, as far as they are filled.", kGauge, {},
       [](const PageCacheStatistics& s) { return s.resident_pages * storage::FrozenTier::kPageBytes; });
  show("scyper_tier_cache_size_bytes", "The tier's page caches, as far as they have grown.", kGauge, {},
       [](const PageCacheStatistics& s) { return s.pages * storage::FrozenTier::kPageBytes; });
  constexpr char kPages[] = "scyper_tier_cache_pages_total";
  constexpr char kPagesHelp[] =
      "Pages found in the tier's caches, waited for, read, read ahead and used, read ahead for nothing, evicted.";
  show(kPages, kPagesHelp, kCounter, {{"event", "hit"}}, [](const PageCacheStatistics& s) { return s.hits; });
  show(kPages, kPagesHelp, kCounter, {{"event", "fault"}}, [](const PageCacheStatistics& s) { return s.faults; });
  show(kPages, kPagesHelp, kCounter, {{"event", "read"}}, [](const PageCacheStatistics& s) { return s.pages_read; });
  show(kPages, kPagesHelp, kCounter, {{"event", "ahead_used"}},
       [](const PageCacheStatistics& s) { return s.read_ahead_used_pages; });
  show(kPages, kPagesHelp, kCounter, {{"event", "ahead_wasted"}},
       [](const PageCacheStatistics& s) { return s.read_ahead_wasted_pages; });
  show(kPages, kPagesHelp, kCounter, {{"event", "evicted"}}, [](const PageCacheStatistics& s) { return s.evictions; });
  show("scyper_tier_read_errors_total", "Reads of the tier that failed, and pages whose checksum did not match.",
       kCounter, {}, [](const PageCacheStatistics& s) { return s.read_errors + s.short_reads + s.checksum_errors; });
}

// Where there is none: no such metrics.
void observe_tier(MetricsRegistry* registry, primary::Engine* engine, std::vector<MetricsRegistry::Registration>* all) {
  if (engine->compaction() == nullptr || engine->compaction()->tier() == nullptr) return;
  using storage::FrozenTier;
  TierMetrics metrics(registry, engine, all);
  constexpr MetricType kCounter = MetricType::kCounter, kGauge = MetricType::kGauge;
  metrics.show("scyper_tier_memory_bytes", "Of frozen chunks, what is in memory.", kGauge, {},
               [](FrozenTier* t) { return t->resident_bytes(); });
  metrics.show("scyper_tier_memory_budget_bytes", "Budget of that.", kGauge, {},
               [](FrozenTier* t) { return uint64_t{t->memory_budget_bytes()}; });
  metrics.show("scyper_tier_vector_bytes", "Of vectors whose data is in files.", kGauge, {},
               [](FrozenTier* t) { return t->counts().tiered_bytes; });
  metrics.show("scyper_tier_files", "Files of the tier.", kGauge, {}, [](FrozenTier* t) { return t->counts().files; });
  metrics.show("scyper_tier_archived_files", "Files of the tier that only archives name, or nobody any more.", kGauge,
               {}, [](FrozenTier* t) { return t->counts().archived_files; });
  metrics.show("scyper_tier_repaired_chunks_total",
               "Frozen chunks that were made anew, as pages of theirs were damaged.", kCounter, {},
               [](FrozenTier* t) { return t->counts().repaired_chunks; });
  constexpr char kEvictions[] = "scyper_tier_evictions_total";
  constexpr char kEvictionsHelp[] = "Evictions of frozen data from memory, by outcome.";
  metrics.show(kEvictions, kEvictionsHelp, kCounter, {{"outcome", "ok"}},
               [](FrozenTier* t) { return t->counts().evictions; });
  metrics.show(kEvictions, kEvictionsHelp, kCounter, {{"outcome", "error"}},
               [](FrozenTier* t) { return t->counts().failed_evictions; });
  constexpr char kMoved[] = "scyper_tier_moved_bytes_total";
  constexpr char kMovedHelp[] =
      "Of vectors that went to files, of these the ones that were in one already, of those that came back, and of "
      "those that were written while they stay in memory.";
  metrics.show(kMoved, kMovedHelp, kCounter, {{"move", "evicted"}},
               [](FrozenTier* t) { return t->counts().evicted_bytes; });
  metrics.show(kMoved, kMovedHelp, kCounter, {{"move", "evicted_unwritten"}},
               [](FrozenTier* t) { return t->counts().unwritten_bytes; });
  metrics.show(kMoved, kMovedHelp, kCounter, {{"move", "promoted"}},
               [](FrozenTier* t) { return t->counts().promoted_bytes; });
  metrics.show(kMoved, kMovedHelp, kCounter, {{"move", "copied"}},
               [](FrozenTier* t) { return t->counts().copied_bytes; });
  constexpr char kPromotions[] = "scyper_tier_promotions_total";
  constexpr char kPromotionsHelp[] =
      "Vectors that came back to memory as they are used again, or failed to, by outcome.";
  metrics.show(kPromotions, kPromotionsHelp, kCounter, {{"outcome", "ok"}},
               [](FrozenTier* t) { return t->counts().promoted_vectors; });
  metrics.show(kPromotions, kPromotionsHelp, kCounter, {{"outcome", "error"}},
               [](FrozenTier* t) { return t->counts().failed_promotions; });
  storage::TierCaches& caches = engine->compaction()->tier()->caches();
  for (uint32_t i = 0; i < caches.count(); ++i) observe_tier_cache(&metrics, caches.name(i), i);
}

}  // namespace

std::vector<MetricsRegistry::Registration> observe_engine(MetricsRegistry* registry, primary::Engine* engine) {
  std::vector<MetricsRegistry::Registration> all;
  const primary::EngineCounters& counters = engine->counters();
  auto show = [&](const char* name, const char* help, const std::atomic<uint64_t>& value, MetricLabels labels = {}) {
    all.push_back(registry->observe(name, help, MetricType::kCounter, std::move(labels),
                                    [&value] { return static_cast<double>(value.load(std::memory_order_relaxed)); }));
  };
  constexpr char kName[] = "scyper_transactions_total";
  constexpr char kHelp[] = "Transactions by outcome: committed, rolled back, refused before they ran.";
  show(kName, kHelp, counters.committed, {{"outcome", "committed"}});
  show(kName, kHelp, counters.rolled_back, {{"outcome", "rolled_back"}});
  show(kName, kHelp, counters.refused, {{"outcome", "refused"}});
  constexpr std::array<const char*, primary::kRefusals> kReasons = {
      // in the order of primary::Refusal
      "queue_full", "stopping", "no_primary", "log", "timeout", "cancelled", "request", "parameters"};
  for (size_t why = 0; why < kReasons.size(); ++why) {
    show("scyper_transactions_refused_total", "Transactions refused before they ran, by reason.",
         counters.refused_by[why], {{"reason", kReasons[why]}});
  }
  show("scyper_transactions_crossing_total", "Partition-crossing transactions.", counters.crossing);
  show("scyper_blocks_alone_total",
       "Blocks of BEGIN ... COMMIT that have begun to run alone: they define something, or are larger than "
       "block_changes_max, block_repeated_max or block_locked_rows_max.",
       counters.blocks_alone);
  show("scyper_transactions_misclassified_total",
       "Transactions that left their partition, were undone and run again as crossing ones.", counters.misclassified);
  show("scyper_redo_bytes_total", "Redo produced.", counters.redo_bytes);
  show("scyper_statements_compiled_total", "Statements and routines compiled.", counters.statements_compiled);
  auto gauge = [&](const char* name, const char* help, std::function<double()> read) {
    all.push_back(registry->observe(name, help, MetricType::kGauge, {}, std::move(read)));
  };
  gauge("scyper_memory_used_bytes", "Memory used by tables, indexes and undo.",
        [engine] { return static_cast<double>(engine->memory_used_bytes()); });
  all.push_back(registry->observe(
      "scyper_pages_copied_ahead_total", "Reserved huge pages copied before a transaction had to wait for it.",
      MetricType::kCounter, {}, [engine] { return static_cast<double>(engine->pages_copied_ahead()); }));
  gauge("scyper_memory_budget_bytes", "Memory budget.",
        [engine] { return static_cast<double>(engine->options().memory_bytes); });
  gauge("scyper_queue_depth", "Transactions waiting in the workers' queues.",
        [engine] { return static_cast<double>(engine->queue_depth()); });
  if (engine->queries() != nullptr) observe_queries(registry, engine->queries(), &all);
  observe_compaction(registry, engine, &all);
  observe_tier(registry, engine, &all);
  observe_learning(registry, engine, &all);
  return all;
}

}  // namespace scyper::server
