#pragma once

#include <vector>

#include "base/metrics.h"
#include "primary/engine.h"

namespace scyper::server {

// What the server counts of its own work. The registry outlives it.
struct ServerCounters {
  explicit ServerCounters(MetricsRegistry* registry);

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
  Timer& message_duration;
  Timer& query_stage;  // of freshness
};

// Shows the engine's own counters; until the registrations are gone the engine must live.
std::vector<MetricsRegistry::Registration> observe_engine(MetricsRegistry* registry, primary::Engine* engine);

}  // namespace scyper::server
