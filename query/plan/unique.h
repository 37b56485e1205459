#pragma once

#include <set>
#include <vector>

#include "plan/plan.h"

namespace scyper::query {

// Do the columns contain a unique key of a table, none of whose columns may be NULL?
bool has_unique_key(const Relation& relation, const std::set<uint32_t>& columns);
// Is it certain that no two rows of a planned node agree in all of these columns?
bool is_unique(const PlanNode& node, const std::set<ColumnId>& columns);
// Has each row of a join's left input one partner in the right one at most?
bool has_one_partner(const PlanNode& join);
// The columns among expressions, below casts that keep different values apart.
std::set<ColumnId> columns_of(const std::vector<const BoundExpr*>& exprs);

}  // namespace scyper::query
