#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "base/status.h"
#include "primary/engine.h"
#include "query/slow_queries.h"

namespace scyper::server {

// What clients ask for at a time: a message of calls on a stream, a call alone, an Execute of a statement or a query, a
// statement by PostgreSQL's protocol.
enum class RequestProtocol : uint8_t { kStream, kCall, kExecute, kPostgres };
enum class RequestKind : uint8_t { kTransaction, kQuery };

// From a request's arrival, or where it is parsed apart from its run from there, to its last result.
class RequestTimes {
 public:
  explicit RequestTimes(MetricsRegistry* registry);
  // began_ns: monotonic. Threads: any.
  void note(RequestProtocol protocol, RequestKind kind, bool is_ok, int64_t began_ns) const;

 private:
  using Outcomes = std::array<Timer*, 2>;                 // errors, successes
  std::array<std::array<Outcomes, 2>, 4> by_protocol_{};  // and kind; null: there are none such
};

// What the server counts of its own work. The registry outlives it.
struct ServerCounters {
  explicit ServerCounters(MetricsRegistry* registry);

  // Runs one statement as a transaction: it is open meanwhile, and counted and timed by its outcome. sql: of the
  // record of slow ones.
  Status count_call(RequestProtocol protocol, std::string_view sql, const std::function<Status()>& run);
  query::SlowQueries slow_transactions;

  Counter& calls_ok;
  Counter& calls_failed;
  Counter& unary_calls;
  Counter& statements;
  Counter& batches;
  Counter& result_messages;
  Counter& reads_paused;
  Counter& streams_opened;
  Counter& streams_broken;
  Counter& rows_loaded;
  Gauge& streams_open;
  Gauge& calls_open;  // accepted, not yet answered
  const RequestTimes requests;
  Timer& query_stage;  // of freshness
};

// Shows the engine's own counters; until the registrations are gone the engine must live.
std::vector<MetricsRegistry::Registration> observe_engine(MetricsRegistry* registry, primary::Engine* engine);

}  // namespace scyper::server
