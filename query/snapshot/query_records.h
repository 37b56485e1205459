#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "query/queries.h"
#include "query/session_activity.h"
#include "query/slow_queries.h"

namespace scyper::query {

// What the queries of a node have cost, and the slowest of late. Threads: any.
class QueryRecords {
 public:
  QueryRecords() = default;
  explicit QueryRecords(double slow_from_ms) : slow_(slow_from_ms) {}

  // A query has ended; answered: to its last row.
  void note(std::string_view sql, const Receipt& receipt, uint64_t rows, bool is_answered, int64_t now_us);
  void add_to(Queries::Counters* counters) const;
  // The slowest first.
  std::vector<SlowQuery> slow(int64_t now_us) const { return slow_.list(now_us); }

 private:
  std::atomic<uint64_t> answered_{0}, broken_{0}, swapped_{0}, memory_bytes_{0}, memory_bytes_max_{0},
      spilled_bytes_{0};
  SlowQueries slow_;
};

}  // namespace scyper::query
