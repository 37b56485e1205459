#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "storage/statistics.h"

namespace scyper::query {

// Sizes and selectivities, from the tables' statistics where there are some (else from row counts and keys alone).
class Estimator {
 public:
  // Makes the tables of a plan's kGet nodes known.
  void add(const Plan& plan);
  void add_table(const Relation& relation);

  double table_rows(const PlanNode& get) const;
  // Fraction of rows that satisfy a conjunct.
  double selectivity(const BoundExpr& conjunct) const;
  // Of all of them: two bounds of one column are a range, all else is taken to be independent.
  double selectivity_of_all(const std::vector<const BoundExpr*>& conjuncts) const;
  // Of the bounds of a LIKE, which say what its texts begin with.
  double prefix_selectivity(const BoundExpr& like, const std::vector<KeyPart>& bounds) const;
  // Distinct values of an expression in at most `rows` rows.
  double distinct(const BoundExpr& expr, double rows) const;
  // Of the product of two inputs: conjuncts between them. Equalities on one relation are bounded by its rows.
  double join_selectivity(const std::vector<const BoundExpr*>& conjuncts, const std::set<uint32_t>& left,
                          double left_rows, double right_rows) const;
  // How many integers lie from the least to the largest value of a table's column; none: not known.
  std::optional<double> width(const BoundExpr& column) const;
  // The least and the largest value of a table's column or a constant in the sample, numerics by their value; none: not
  // known.
  std::optional<std::pair<double, double>> range(const BoundExpr& expr) const;
  double groups(const std::vector<BoundPtr>& keys, double rows) const;

 private:
  void add_node(const PlanNode& node);
  struct TableInfo {
    const Relation* relation = nullptr;
    std::shared_ptr<const storage::TableStatistics> statistics;
    double rows = 0;
  };
  const storage::ColumnStatistics* column(const BoundExpr& expr) const;
  double column_distinct(const BoundExpr& column) const;
  double compare_selectivity(const BoundExpr& e) const;
  double text_selectivity(const storage::ColumnStatistics& statistics, BuiltinOp op, const std::string& bound) const;
  double like_selectivity(const BoundExpr& e) const;
  double key_rows(const std::vector<const BoundExpr*>& exprs) const;
  double sides_distinct(const std::vector<const BoundExpr*>& exprs, double rows) const;

  std::map<uint32_t, TableInfo> tables_;  // by relation
};

}  // namespace scyper::query
