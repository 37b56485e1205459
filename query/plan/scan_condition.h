#pragma once

#include <string>
#include <vector>

#include "bind/bound.h"
#include "runtime/windows.h"

namespace scyper::query {

// What a scan's conjuncts say of single columns, as far as frozen chunks can be asked (storage/frozen_vector.h).
struct ScanCondition {
  ChunkCondition condition;  // its bounds are not numbered yet
  const BoundExpr* low = nullptr;
  const BoundExpr* high = nullptr;
  std::string prefix;  // of kPrefix: what texts begin with
};

// A conjunction of alternatives (ChunkCondition::has_alternative). Holds for all rows for which the conjuncts do;
// bounds are constants, variables and columns of other relations, whose evaluation cannot fail.
std::vector<ScanCondition> find_scan_conditions(const Relation& relation,
                                                const std::vector<const BoundExpr*>& conjuncts);

// Do the conjuncts hold for all rows for which those conditions do?
bool are_scan_conditions_exact(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts);

// The terms of which all bounds are constants, and those; what they refer to lives as long as `found`.
struct ConstantConditions {
  std::vector<ChunkCondition> conditions;
  std::vector<Datum> bounds;
  bool is_whole = true;  // nothing was left out
};
ConstantConditions constant_conditions(const std::vector<ScanCondition>& found);

}  // namespace scyper::query
