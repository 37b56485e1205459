#pragma once

#include <algorithm>

#include "parse/ast.h"

namespace scyper::query {

// Whether GROUP BY has ROLLUP, CUBE or GROUPING SETS: columns that a set leaves out are NULL above it.
inline bool has_grouping_sets(const ast::SelectStatement& select) {
  return std::any_of(select.group_by.begin(), select.group_by.end(),
                     [](const auto& item) { return item->kind == ast::ExprKind::kGroupingSet; });
}

}  // namespace scyper::query
