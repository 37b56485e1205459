#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace scyper::query {

// One of the queries, or other statements, that took longest, within the last hour.
struct SlowQuery {
  static constexpr size_t kTextBytesMax = 16 << 10;  // longer texts are not kept

  std::string text;     // without its constants
  int64_t time_us = 0;  // when it ended, since 1970
  double total_ms = 0, wait_ms = 0, compile_ms = 0, run_ms = 0;
  uint64_t rows = 0;
  uint64_t memory_bytes = 0, spilled_bytes = 0;
  uint64_t times = 1;       // that its text was among the slow ones
  bool is_answered = true;  // false: it failed, or was cancelled; run_ms is until then
};

// The slowest of late, one for each text. Threads: any.
class SlowQueries {
 public:
  explicit SlowQueries(double from_ms = kFromMs) : from_ms_(from_ms) {}

  // sql: its text; query.text is made of that here, where it is slow enough.
  void note(std::string_view sql, SlowQuery query);
  // The slowest first.
  std::vector<SlowQuery> list(int64_t now_us) const;

 private:
  static constexpr double kFromMs = 10;             // shorter ones are no news, and pay for no parsing here
  static constexpr size_t kMax = 20;                // that people read
  static constexpr int64_t kUsMax = 3'600'000'000;  // older ones are history

  const double from_ms_;
  mutable std::mutex mutex_;
  std::vector<SlowQuery> slow_;  // under it
};

}  // namespace scyper::query
