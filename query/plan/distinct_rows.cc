#include "plan/distinct_rows.h"

#include <algorithm>
#include <limits>

#include "plan/expressions.h"

namespace scyper::query {

namespace {
constexpr double kNoBound = std::numeric_limits<double>::infinity();
}  // namespace

DistinctRows::DistinctRows(const Estimator& estimator, const PlanNode& node)
    : estimator_(estimator), rows_(std::max(1.0, node.rows)), equalities_(inner_tables(node).joins) {
  walk(node, kNoBound);
}

void DistinctRows::walk(const PlanNode& node, double rows) {
  rows = std::min(rows, std::max(1.0, node.rows));
  if (node.relation != kNoRelation) definitions_[node.relation] = {&node, rows};
  for (const auto& e : node.conjuncts) {
    const BoundExpr *a = nullptr, *b = nullptr;
    bool null_safe = false;
    if (node.kind != PlanKind::kGet || !is_equality(*e, &a, &b, &null_safe)) continue;
    if (a->kind != BoundKind::kColumn) std::swap(a, b);
    if (a->kind == BoundKind::kColumn && a->relation == node.relation && relations_of(*b).empty())
      constants_.insert({a->relation, a->index});
  }
  const bool starts_anew =
      node.kind == PlanKind::kGroup || node.kind == PlanKind::kSetOp || node.kind == PlanKind::kRecursive;
  for (const auto& input : node.inputs) walk(*input, starts_anew ? kNoBound : rows);
}

double DistinctRows::rows_of(uint32_t relation) const {
  auto it = definitions_.find(relation);
  return it == definitions_.end() ? rows_ : it->second.rows;
}

double DistinctRows::column_values(const ColumnId& column, const BoundExpr& expr, std::set<ColumnId>* asked) const {
  if (constants_.count(column) != 0) return 1;
  auto it = definitions_.find(column.relation);
  if (it == definitions_.end()) return estimator_.distinct(expr, rows_);
  const PlanNode& node = *it->second.node;
  const double rows = it->second.rows;
  if (node.kind == PlanKind::kGet) {
    BoundPtr reference = make_reference(column, expr.type, expr.nullable);
    return estimator_.distinct(*reference, rows);
  }
  const bool computes = node.kind == PlanKind::kMap || node.kind == PlanKind::kGroup;
  return computes && column.index < node.exprs.size() ? std::min(rows, values(*node.exprs[column.index], asked)) : rows;
}

double DistinctRows::values(const BoundExpr& expr) const {
  std::set<ColumnId> asked;
  return values(expr, &asked);
}

// A column may be computed from one that a join made equal to it: no column is asked twice.
double DistinctRows::values(const BoundExpr& expr, std::set<ColumnId>* asked) const {
  const BoundExpr& e = without_casts(expr);
  if (e.kind != BoundKind::kColumn) return estimator_.distinct(e, rows_);
  double fewest = kNoBound;
  for (const ColumnId& column : equalities_.equal_to({e.relation, e.index}))
    if (asked->insert(column).second) fewest = std::min(fewest, column_values(column, e, asked));
  return fewest;
}

double DistinctRows::of(const std::vector<const BoundExpr*>& exprs) const {
  std::map<uint32_t, double> by_relation;
  double result = 1;
  std::map<uint32_t, size_t> holds;  // relations: how many of the expressions are columns of them, or equal to some
  for (const BoundExpr* expr : exprs) {
    const BoundExpr& e = without_casts(*expr);
    const std::set<uint32_t> used = relations_of(e);
    if (e.kind == BoundKind::kColumn) {
      std::set<uint32_t> alike;
      for (const ColumnId& column : equalities_.equal_to({e.relation, e.index})) alike.insert(column.relation);
      for (uint32_t relation : alike) holds[relation]++;
    }
    if (used.size() != 1) {
      result *= std::min(values(e), rows_);
      continue;
    }
    double& product = by_relation.emplace(*used.begin(), 1).first->second;
    product = std::min(product * values(e), rows_of(*used.begin()));
  }
  for (const auto& [relation, product] : by_relation) result *= product;
  for (const auto& [relation, count] : holds)
    if (count == exprs.size()) result = std::min(result, rows_of(relation));
  return std::clamp(result, 1.0, rows_);
}

}  // namespace scyper::query
