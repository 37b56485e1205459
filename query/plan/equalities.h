#pragma once

#include <utility>
#include <vector>

#include "plan/plan.h"

namespace scyper::query {

// The tables of a planned node whose rows it offers, and the inner joins between them; not what outer joins may fill
// with NULL.
struct InnerTables {
  std::vector<const PlanNode*> gets, joins;
};
InnerTables inner_tables(const PlanNode& node);

// Columns that inner joins have made equal.
class Equalities {
 public:
  explicit Equalities(const std::vector<const PlanNode*>& joins);
  const std::vector<std::pair<ColumnId, ColumnId>>& pairs() const { return pairs_; }
  bool equal(const BoundExpr& a, const BoundExpr& b) const;
  // The column itself among them.
  std::set<ColumnId> equal_to(const ColumnId& column) const;

 private:
  void add(const BoundExpr& a, const BoundExpr& b);
  std::vector<std::pair<ColumnId, ColumnId>> pairs_;
};

}  // namespace scyper::query
