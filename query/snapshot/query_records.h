#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "query/queries.h"

namespace scyper::query {

// What the queries of a node have cost, and the slowest of late. Threads: any.
class QueryRecords {
 public:
  explicit QueryRecords(double slow_from_ms = kSlowFromMs) : slow_from_ms_(slow_from_ms) {}

  // A query has ended; answered: to its last row.
  void note(std::string_view sql, const Receipt& receipt, uint64_t rows, bool is_answered, int64_t now_us);
  void add_to(Queries::Counters* counters) const;
  // The slowest first.
  std::vector<SlowQuery> slow(int64_t now_us) const;

 private:
  static constexpr double kSlowFromMs = 10;             // shorter ones are no news, and pay for no parsing here
  static constexpr size_t kSlowMax = 20;                // that people read
  static constexpr int64_t kSlowUsMax = 3'600'000'000;  // older ones are history
  void note_slow(std::string_view sql, const Receipt& receipt, uint64_t rows, bool is_answered, int64_t now_us);

  const double slow_from_ms_;
  std::atomic<uint64_t> answered_{0}, broken_{0}, swapped_{0}, memory_bytes_{0}, memory_bytes_max_{0},
      spilled_bytes_{0};
  mutable std::mutex mutex_;
  std::vector<SlowQuery> slow_;  // under it; one for each text
};

// The text without its constants, and not longer than people read.
std::string shown_text(std::string_view sql);

}  // namespace scyper::query
