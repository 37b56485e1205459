#include "counters.h"

#include <atomic>
#include <cstdint>

namespace scyper::server {

namespace {
constexpr char kCalls[] = "scyper_server_calls_total";
constexpr char kCallsHelp[] = "Calls answered, by outcome.";
}  // namespace

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
      calls_open(r->gauge("scyper_server_calls_open", "Calls accepted and not yet answered.")),
      message_duration(r->timer("scyper_server_message_duration_seconds",
                                "From the arrival of a message of calls to its last result.")) {}

std::vector<MetricsRegistry::Registration> observe_engine(MetricsRegistry* registry, primary::Engine* engine) {
  std::vector<MetricsRegistry::Registration> all;
  const primary::EngineCounters& counters = engine->counters();
  auto show = [&](const char* name, const char* help, const std::atomic<uint64_t>& value, MetricLabels labels = {}) {
    all.push_back(registry->observe(name, help, MetricType::kCounter, std::move(labels),
                                    [&value] { return static_cast<double>(value.load(std::memory_order_relaxed)); }));
  };
  constexpr char kName[] = "scyper_transactions_total";
  constexpr char kHelp[] = "Transactions by outcome: committed, rolled back, refused because a queue was full.";
  show(kName, kHelp, counters.committed, {{"outcome", "committed"}});
  show(kName, kHelp, counters.rolled_back, {{"outcome", "rolled_back"}});
  show(kName, kHelp, counters.refused, {{"outcome", "refused"}});
  show("scyper_transactions_crossing_total", "Partition-crossing transactions.", counters.crossing);
  show("scyper_transactions_misclassified_total",
       "Transactions that left their partition, were undone and run again as crossing ones.", counters.misclassified);
  show("scyper_redo_bytes_total", "Redo produced.", counters.redo_bytes);
  show("scyper_statements_compiled_total", "Statements and routines compiled.", counters.statements_compiled);
  auto gauge = [&](const char* name, const char* help, std::function<double()> read) {
    all.push_back(registry->observe(name, help, MetricType::kGauge, {}, std::move(read)));
  };
  gauge("scyper_memory_used_bytes", "Memory used by tables, indexes and undo.",
        [engine] { return static_cast<double>(engine->memory_used_bytes()); });
  gauge("scyper_memory_budget_bytes", "Memory budget.",
        [engine] { return static_cast<double>(engine->options().memory_bytes); });
  gauge("scyper_queue_depth", "Transactions waiting in the workers' queues.",
        [engine] { return static_cast<double>(engine->queue_depth()); });
  return all;
}

}  // namespace scyper::server
