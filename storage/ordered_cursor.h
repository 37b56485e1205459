#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "radix_node.h"
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

// The same for a radix tree: Tids gathered ahead, in scan order (step is 1), then the leaf to go on with, or none.
struct RadixPosition {
  static constexpr uint32_t kAhead = 16;
  const uint64_t* at;
  const uint64_t* end;
  int64_t step;
  const RadixLeaf* more;
  const RadixLeaf* stop;  // the leaf behind the range in scan order; nullptr = open end
  uint32_t backward;
  uint32_t given;  // leaves handed out one by one so far
  uint64_t tids[kAhead];

  static RadixPosition* of(OrderedCursor* cursor) { return reinterpret_cast<RadixPosition*>(cursor->words); }
};
static_assert(offsetof(RadixPosition, at) == offsetof(TreePosition, at));  // next() reads these without knowing which
static_assert(offsetof(RadixPosition, end) == offsetof(TreePosition, end));
static_assert(offsetof(RadixPosition, step) == offsetof(TreePosition, step));
static_assert(sizeof(RadixPosition) <= sizeof(OrderedCursor) && std::is_trivially_copyable_v<RadixPosition>);
static_assert(sizeof(TreePosition) <= sizeof(OrderedCursor) && std::is_trivially_copyable_v<TreePosition>);

}  // namespace scyper::storage
