#pragma once

#include <cstdint>
#include <type_traits>

#include "storage/index.h"

namespace scyper::storage {

// What an OrderedCursor holds during a scan of a B+-tree: the Tids of the current leaf that lie in the range, in scan
// order from `at` to before `end`; then the next leaf, or none when the range ends in this one.
struct TreePosition {
  const uint64_t* at;
  const uint64_t* end;
  int64_t step;  // 1 forward, -1 backward
  const void* more;
  uint64_t stop[3];  // the far end of the range, a BigKey
  uint64_t stop_strict;

  static TreePosition* of(OrderedCursor* cursor) { return reinterpret_cast<TreePosition*>(cursor->words); }
};
static_assert(sizeof(TreePosition) <= sizeof(OrderedCursor) && std::is_trivially_copyable_v<TreePosition>);

}  // namespace scyper::storage
