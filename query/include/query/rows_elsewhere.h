#pragma once

#include <cstdint>

namespace scyper::query {

// What definitions may do about rows where nodes hold some partitions only (docs/replication.md, Subscriptions).
enum class RowsElsewhere : uint8_t {
  kNone,     // all rows are here, as on every other node
  kLacked,   // all are here, but a node that lacks some repeats the definition: what it could not repeat is 0A000
  kLacking,  // some are not here: what the primary has checked is not checked again
};

// While definitions run. Threads: its own.
class RowsElsewhereScope {
 public:
  explicit RowsElsewhereScope(RowsElsewhere now) noexcept : before_(now_) { now_ = now; }
  ~RowsElsewhereScope() { now_ = before_; }
  RowsElsewhereScope(const RowsElsewhereScope&) = delete;
  RowsElsewhereScope& operator=(const RowsElsewhereScope&) = delete;
  static RowsElsewhere now() { return now_; }

 private:
  static inline constinit thread_local RowsElsewhere now_ = RowsElsewhere::kNone;
  const RowsElsewhere before_;
};

}  // namespace scyper::query
