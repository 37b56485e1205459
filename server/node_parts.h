#pragma once

#include <atomic>
#include <chrono>

#include "activity_list.h"
#include "authorization.h"
#include "counters.h"
#include "forwarding.h"
#include "primary/engine.h"
#include "query_router.h"
#include "server/server.h"
#include "statements.h"
#include "thread_pool.h"

namespace scyper::server {

// What the services share. Owner: Server. Constant after construction, or safe for any thread by itself.
struct NodeParts {
  NodeParts(const ServerOptions& given, primary::Engine* node_engine, MetricsRegistry* registry)
      : options(given),
        engine(node_engine),
        metrics(registry),
        statements(node_engine, given.prepared_max, given.prepared_bytes_max),
        counters(registry),
        activity([node_engine] { return node_engine->catalog(); }),
        router(given, node_engine),
        authorization(given, node_engine, registry),
        forwarding(&router, node_engine),
        query_texts(given.prepared_bytes_max / kQueryTextsShare),
        pool(given.statement_threads, given.statement_queue),
        query_pool(given.query_threads, given.statement_queue) {}

  static constexpr size_t kQueryTextsShare = 4;  // of the memory of prepared statements, for texts of queries beside it

  const ServerOptions options;
  primary::Engine* const engine;
  MetricsRegistry* const metrics;
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  Statements statements;
  ServerCounters counters;
  ActivityList activity;
  QueryRouter router;
  Authorization authorization;
  Forwarding forwarding;
  std::atomic<bool> stopping{false};
  // Calls of the service of queries: accepted and not yet answered; of these, without their snapshot yet.
  std::atomic<int64_t> queries_open{0};
  std::atomic<int64_t> queries_waiting{0};
  Statements::Texts query_texts;
  ThreadPool pool;        // last: its tasks use the rest
  ThreadPool query_pool;  // apart, so that waiting queries never hold up transactions' statements
};

constexpr int64_t kNsPerUs = 1000;
inline int64_t monotonic_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

inline Status stopping_error() { return sql_error("57P01", "the node is stopping"); }
inline Status pool_full_error() {
  return with_hint(sql_error("53300", "too many statements are waiting"),
                   "Try again later, or raise statement_threads.");
}

}  // namespace scyper::server
