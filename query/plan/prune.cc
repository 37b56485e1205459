#include <map>

#include "base/bounded_work.h"
#include "base/invariant.h"
#include "plan/expressions.h"
#include "plan/physical.h"

namespace scyper::query {

namespace {

using Columns = std::map<ColumnId, PlanColumn>;

void add_columns(const BoundExpr& expr, Columns* columns) {
  visit(expr, [&](const BoundExpr& e) {
    if (e.kind != BoundKind::kColumn) return;
    ColumnId id{e.relation, e.index};
    auto [it, fresh] = columns->emplace(id, PlanColumn{id, e.type, e.nullable});
    if (!fresh) it->second.nullable |= e.nullable;
  });
}

// Which columns each node's consumers read, from the root down.
class Pruner {
 public:
  explicit Pruner(Plan* plan) : plan_(*plan) {}

  void run() {
    Columns outputs;
    for (const auto& output : plan_.outputs) add_columns(*output, &outputs);
    visit(plan_.root.get(), outputs);
    // a shared plan is read by the main plan and by those behind it
    for (size_t i = plan_.shared.size(); i-- > 0;) {
      SharedPlan& shared = *plan_.shared[i];
      Columns needed = wanted_[&shared];
      for (const auto& [id, column] : needed) shared.columns.push_back(column);
      visit(shared.plan.get(), needed);
    }
  }

 private:
  void visit(PlanNode* node, Columns needed) {
    check_stack();
    poll_work();
    std::set<uint32_t> produced = produced_by(*node);
    for (const auto& [id, column] : needed)
      if (produced.count(id.relation) != 0) node->needed.push_back(column);
    if (node->kind == PlanKind::kShared) return visit_shared(node);
    scyper::query::visit_own(*node, [&](const BoundExpr& e) { add_columns(e, &needed); });
    for (auto& input : node->inputs) visit(input.get(), needed);
  }

  void visit_shared(PlanNode* node) {
    Columns& wanted = wanted_[node->shared.get()];
    if (node->relation == kNoRelation) {
      node->columns = node->needed;
      for (const auto& column : node->needed) wanted.emplace(column.id, column);
      return;
    }
    for (const auto& column : node->columns) wanted.emplace(column.id, column);
  }

  Plan& plan_;
  std::map<const SharedPlan*, Columns> wanted_;
};

}  // namespace

void prune(Plan* plan) { Pruner(plan).run(); }

}  // namespace scyper::query
