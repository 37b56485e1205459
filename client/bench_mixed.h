#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bench_node.h"
#include "thread_times.h"

// Transactions beside a session that asks CH-benCHmark's queries in turn, on a new snapshot every period.
namespace scyper::client {

struct MixedRound {
  double tps_alone = 0;
  double tps_beside = 0;
  double p99_us_alone = 0;
  double p99_us_beside = 0;
  double max_us_beside = 0;
  uint64_t answered = 0;
  uint64_t failed = 0;
  uint64_t snapshots = 0;
  double seconds_beside = 0;
  std::map<std::string, ThreadTimes> threads_alone, threads_beside;
};
// First without, then beside the queries, options.oltp.seconds each.
StatusOr<MixedRound> run_mixed_round(primary::Engine* engine, const ch::Generator& generator,
                                     const MixedOptions& options);

}  // namespace scyper::client
