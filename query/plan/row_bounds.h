#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace scyper::query {

constexpr uint64_t kAnyRows = ~uint64_t{0};

// How many rows a node gives at least and at most, whatever is in the tables.
struct RowBounds {
  uint64_t least = 0;
  uint64_t most = kAnyRows;
};

RowBounds row_bounds(const PlanNode& node);

}  // namespace scyper::query
