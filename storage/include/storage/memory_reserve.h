#pragma once

#include <cstddef>

#include "storage/arena.h"

namespace scyper::storage {

// The part of an arena's budget that rows and indexes do not get. Undo, redo and the keys that a rollback puts back
// take their memory there. So a full database can still delete, truncate and drop.
constexpr size_t kReservedShare = 16;  // 1/16 of the budget, in whole granules
constexpr size_t reserved_bytes(size_t budget_bytes) {
  return budget_bytes / kReservedShare / kArenaGranuleBytes * kArenaGranuleBytes;
}

// While one lives, allocations of this thread may use the reserve. Scopes may lie in each other.
class ReserveScope {
 public:
  ReserveScope() noexcept { ++depth_; }
  ~ReserveScope() { --depth_; }
  ReserveScope(const ReserveScope&) = delete;
  ReserveScope& operator=(const ReserveScope&) = delete;
  static bool is_open() noexcept { return depth_ > 0; }

 private:
  inline static thread_local int depth_ = 0;
};

}  // namespace scyper::storage
