#include "plan/equalities.h"

#include "plan/expressions.h"

namespace scyper::query {

namespace {
void collect(const PlanNode& node, InnerTables* tables) {
  const bool is_inner = node.kind == PlanKind::kJoin && node.join == JoinKind::kInner;
  if (node.kind == PlanKind::kGet) tables->gets.push_back(&node);
  if (is_inner) tables->joins.push_back(&node);
  const bool passes = node.kind == PlanKind::kFilter || node.kind == PlanKind::kMap || node.kind == PlanKind::kJoin;
  if (!passes) return;
  collect(*node.inputs[0], tables);
  if (is_inner) collect(*node.inputs[1], tables);
}
}  // namespace

InnerTables inner_tables(const PlanNode& node) {
  InnerTables tables;
  collect(node, &tables);
  return tables;
}

Equalities::Equalities(const std::vector<const PlanNode*>& joins) {
  for (const PlanNode* join : joins) {
    for (const auto& key : join->keys) add(*key.left, *key.right);
    for (const auto& e : join->conjuncts) {
      const BoundExpr *a = nullptr, *b = nullptr;
      bool null_safe = false;
      if (is_equality(*e, &a, &b, &null_safe)) add(*a, *b);
    }
  }
}

void Equalities::add(const BoundExpr& a, const BoundExpr& b) {
  if (a.kind == BoundKind::kColumn && b.kind == BoundKind::kColumn)
    pairs_.push_back({{a.relation, a.index}, {b.relation, b.index}});
}

std::set<ColumnId> Equalities::equal_to(const ColumnId& column) const {
  std::set<ColumnId> reached = {column};
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [x, y] : pairs_) {
      if (reached.count(x) != 0) grows |= reached.insert(y).second;
      if (reached.count(y) != 0) grows |= reached.insert(x).second;
    }
  }
  return reached;
}

bool Equalities::equal(const BoundExpr& a, const BoundExpr& b) const {
  if (a.kind != BoundKind::kColumn || b.kind != BoundKind::kColumn || a.type != b.type) return same(a, b);
  return equal_to({a.relation, a.index}).count({b.relation, b.index}) != 0;
}

}  // namespace scyper::query
