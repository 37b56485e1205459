#include "plan/eliminate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "bind/make.h"
#include "plan/aggregate_kind.h"
#include "plan/expressions.h"
#include "plan/unique.h"

namespace scyper::query {

namespace {

bool can_vary(const PlanNode& node) {
  bool found = node.kind == PlanKind::kSubquery;
  for_each_own(const_cast<PlanNode*>(&node), [&](BoundPtr& e) { found |= is_volatile(*e) || has_subquery(*e); });
  for (const auto& input : node.inputs) found = found || can_vary(*input);
  return found;
}

// From the root down: what is above a node is known before the node is looked at. Identifiers of columns are unique in
// a plan, so one set holds those that are read.
class Eliminator {
 public:
  explicit Eliminator(Plan* plan) : plan_(*plan) {}

  void run() {
    for (const auto& output : plan_.outputs) read(*output);
    visit(&plan_.root, true);
    // a shared plan is read by the main plan and by those behind it
    for (size_t i = plan_.shared.size(); i-- > 0;) {
      SharedPlan& shared = *plan_.shared[i];
      if (shared.is_domain)
        keep(*shared.plan);  // its readers offer the columns that its root hides the others behind
      else
        visit(&shared.plan, true);
    }
  }

 private:
  void read(const BoundExpr& expr) {
    scyper::query::visit(expr, [&](const BoundExpr& e) {
      if (e.kind == BoundKind::kColumn) used_.insert({e.relation, e.index});
    });
  }

  void read_own(const PlanNode& node) {
    for (const auto& column : node.columns) used_.insert(column.id);
    visit_own(node, [&](const BoundExpr& e) {
      if (e.kind == BoundKind::kColumn) used_.insert({e.relation, e.index});
    });
  }

  void keep(const PlanNode& node) {
    read_own(node);
    for (const auto& input : node.inputs) keep(*input);
  }

  // is_ordered: the order of the node's rows can be seen above.
  void visit(PlanPtr* node, bool is_ordered) {
    while (drop(node, is_ordered)) continue;
    PlanNode* n = node->get();
    if (n->kind == PlanKind::kMap) empty_unread(n);
    read_own(*n);
    for (size_t i = 0; i < n->inputs.size(); i++) visit(&n->inputs[i], passes_order(*n, i, is_ordered));
    if (n->kind == PlanKind::kInner) merge_inner(n);
  }

  // One step; false: there is nothing to drop here.
  bool drop(PlanPtr* node, bool is_ordered) const {
    const PlanNode& n = **node;
    const bool keeps_left = n.join == JoinKind::kLeft || n.join == JoinKind::kSingle || n.join == JoinKind::kMark;
    const bool is_join = n.kind == PlanKind::kJoin && keeps_left && is_useless_join(n);
    const bool is_sort =
        n.kind == PlanKind::kSort && n.limit == nullptr && n.offset == nullptr && (!is_ordered || n.order.empty());
    const bool is_unique_run = n.kind == PlanKind::kUnique && has_distinct_rows(n);
    if (is_join || is_sort || is_unique_run) {
      PlanPtr input = std::move((*node)->inputs[0]);
      *node = std::move(input);
      return true;
    }
    if (n.kind == PlanKind::kGroup && n.aggregates.empty() && !n.exprs.empty() && has_distinct_rows(n))
      make_map(node->get());
    return false;
  }

  // Its columns are computed as they were, row by row.
  static void make_map(PlanNode* group) {
    group->kind = PlanKind::kMap;
    group->is_distinct = true;
  }

  static bool has_distinct_rows(const PlanNode& node) {
    return is_unique(*node.inputs[0], columns_of(views_of(node.exprs)));
  }

  // Nobody reads the right side, and no row of the left has two partners there. A subquery that nobody reads may have
  // several rows: as on PostgreSQL it does not run.
  bool is_useless_join(const PlanNode& join) const {
    const PlanNode& right = *join.inputs[1];
    const bool is_mark = join.join == JoinKind::kMark;
    const std::set<uint32_t> offered = is_mark ? std::set<uint32_t>{join.relation} : produced_by(right);
    for (const ColumnId& id : used_)
      if (offered.count(id.relation) != 0) return false;
    for (const auto* list : {&join.conjuncts, &join.doubtful})
      for (const auto& e : *list)
        if (is_volatile(*e) || has_subquery(*e)) return false;
    return !can_vary(right) && (join.join != JoinKind::kLeft || has_one_partner(join));
  }

  // Unread expressions keep nothing alive below.
  void empty_unread(PlanNode* map) const {
    for (uint32_t i = 0; i < map->exprs.size(); i++) {
      BoundPtr& e = map->exprs[i];
      if (used_.count({map->relation, i}) != 0 || e->kind == BoundKind::kConst || is_volatile(*e) || has_subquery(*e))
        continue;
      e = make_null(e->type, e->location);
      map->is_distinct = false;
    }
  }

  // Does the order of an input's rows show in what can be seen of the node's?
  static bool passes_order(const PlanNode& node, size_t input, bool is_ordered) {
    switch (node.kind) {
      case PlanKind::kGroup:
        return std::any_of(node.aggregates.begin(), node.aggregates.end(),
                           [](const Aggregate& aggregate) { return !ignores_order(aggregate); });
      case PlanKind::kSort:
        return node.order.empty() && is_ordered;
      case PlanKind::kSetOp:
        return node.set_all && is_ordered;
      case PlanKind::kJoin:
        return is_ordered && (input == 0 || (node.join != JoinKind::kSemi && node.join != JoinKind::kAnti &&
                                             node.join != JoinKind::kMark));
      case PlanKind::kMap:
      case PlanKind::kFilter:
      case PlanKind::kInner:
        return is_ordered;
      default:
        return true;
    }
  }

  // What became an inner join takes part in the order of the one above.
  static void merge_inner(PlanNode* inner) {
    for (size_t i = 0; i < inner->inputs.size();) {
      if (inner->inputs[i]->kind != PlanKind::kInner) {
        i++;
        continue;
      }
      PlanPtr merged = std::move(inner->inputs[i]);
      inner->inputs.erase(inner->inputs.begin() + static_cast<ptrdiff_t>(i));
      for (auto& e : merged->conjuncts) inner->conjuncts.push_back(std::move(e));
      for (auto& below : merged->inputs) inner->inputs.push_back(std::move(below));
    }
  }

  Plan& plan_;
  std::set<ColumnId> used_;
};

}  // namespace

void eliminate(Plan* plan) { Eliminator(plan).run(); }

}  // namespace scyper::query
