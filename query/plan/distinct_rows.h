#pragma once

#include <map>
#include <set>
#include <vector>

#include "plan/equalities.h"
#include "plan/estimate.h"

namespace scyper::query {

// How many different combinations of expressions the rows of a planned node hold. Columns of a relation have not more
// of them than any operator on the way from it has rows, nor than the columns have that joins made equal to them.
class DistinctRows {
 public:
  DistinctRows(const Estimator& estimator, const PlanNode& node);
  double of(const std::vector<const BoundExpr*>& exprs) const;

 private:
  struct Definition {
    const PlanNode* node = nullptr;
    double rows = 0;  // at most so many of its rows get as far as the node that was asked
  };
  void walk(const PlanNode& node, double rows);
  double values(const BoundExpr& expr) const;
  double values(const BoundExpr& expr, std::set<ColumnId>* asked) const;
  double column_values(const ColumnId& column, const BoundExpr& expr, std::set<ColumnId>* asked) const;
  double rows_of(uint32_t relation) const;

  const Estimator& estimator_;
  const double rows_;
  const Equalities equalities_;
  std::map<uint32_t, Definition> definitions_;
  std::set<ColumnId> constants_;  // of which a filter lets one value pass
};

}  // namespace scyper::query
