#include "plan/nullability.h"

#include <algorithm>
#include <map>
#include <vector>

#include "bind/nullability.h"
#include "plan/expressions.h"

namespace scyper::query {

namespace {

// The relations that a node offers; true: an outer join may have filled their columns.
using Visible = std::map<uint32_t, bool>;

class Settler {
 public:
  void run(Plan* plan) {
    for (auto& shared : plan->shared) offered_[shared.get()] = visit(shared->plan.get());
    const Visible visible = visit(plan->root.get());
    for (auto& output : plan->outputs) settle(output.get(), visible);
  }

 private:
  void settle(BoundExpr* e, const Visible& visible) {
    for (auto& arg : e->args) settle(arg.get(), visible);
    if (e->query != nullptr) settle(e->query.get(), visible);
    if (e->kind != BoundKind::kColumn) return raise_nullable_here(e);
    if (e->nullable) return;
    const auto seen = visible.find(e->relation);
    if (seen == visible.end()) return;
    const auto known = nullable_.find(e->relation);
    const bool is_null = known != nullable_.end() && e->index < known->second.size() && known->second[e->index];
    e->nullable = seen->second || is_null;
  }

  void settle(BoundQuery* query, const Visible& visible) {
    rewrite(query, [&](BoundPtr* e) {
      settle(e->get(), visible);
      return true;
    });
  }

  void settle_own(PlanNode* node, const Visible& visible) {
    for_each_own(node, [&](BoundPtr& e) { settle(e.get(), visible); });
  }

  static std::vector<bool> flags_of(const std::vector<BoundPtr>& exprs) {
    std::vector<bool> flags;
    for (const auto& e : exprs) flags.push_back(e->nullable);
    return flags;
  }

  static std::vector<bool> flags_of(const Relation& relation) {
    std::vector<bool> flags;
    for (const auto& column : relation.columns) flags.push_back(column.nullable);
    return flags;
  }

  static std::vector<bool> flags_of_lists(const PlanNode& node) {
    if (node.outputs.empty()) return {};  // no rows
    std::vector<bool> flags(node.outputs[0].size(), false);
    for (const auto& list : node.outputs)
      for (size_t i = 0; i < flags.size() && i < list.size(); i++) flags[i] = flags[i] || list[i]->nullable;
    return flags;
  }

  // What a node that defines a relation says of its columns, once its expressions are settled.
  void note(const PlanNode& node) {
    if (node.relation == kNoRelation || node.kind == PlanKind::kWorking) return;
    std::vector<bool>& flags = nullable_[node.relation];
    switch (node.kind) {
      case PlanKind::kGet:
      case PlanKind::kFunction:
        flags = flags_of(*node.source);
        return;
      case PlanKind::kSubquery:
        flags = flags_of(*node.owned);
        return;
      case PlanKind::kMap:
        flags = flags_of(node.exprs);
        return;
      case PlanKind::kGroup:
        flags = flags_of(node.exprs);
        for (const auto& aggregate : node.aggregates)
          flags.push_back(!counts_rows(aggregate.kind) && (node.exprs.empty() || is_optional(aggregate)));
        return;
      case PlanKind::kValues:
      case PlanKind::kSetOp:
      case PlanKind::kRecursive:
        flags = flags_of_lists(node);
        return;
      case PlanKind::kJoin:
        flags = {!node.doubtful.empty()};
        return;
      default:
        return;
    }
  }

  // Has the aggregate of a group perhaps no input that counts?
  static bool is_optional(const Aggregate& aggregate) {
    return aggregate.filter != nullptr ||
           std::any_of(aggregate.args.begin(), aggregate.args.end(), [](const BoundPtr& arg) { return arg->nullable; });
  }

  Visible visit(PlanNode* node) {
    if (node->kind == PlanKind::kShared) return visit_shared(node);
    if (node->kind == PlanKind::kRecursive) return visit_recursive(node);
    std::vector<Visible> inputs;
    for (auto& input : node->inputs) inputs.push_back(visit(input.get()));
    if (node->kind == PlanKind::kJoin) return visit_join(node, &inputs);
    if (node->kind == PlanKind::kSetOp) {
      for (size_t i = 0; i < inputs.size(); i++)
        for (auto& e : node->outputs[i]) settle(e.get(), inputs[i]);
      note(*node);
      return {{node->relation, false}};
    }
    Visible visible;
    for (auto& input : inputs) visible.merge(input);
    settle_own(node, visible);
    if (node->kind == PlanKind::kSubquery) settle(node->owned->query.get(), visible);
    note(*node);
    if (node->kind == PlanKind::kGroup) visible.clear();
    // read by a shared plan of the round: nothing is known of the recursion yet
    if (node->kind == PlanKind::kWorking) return {{node->relation, nullable_.count(node->relation) == 0}};
    if (node->relation != kNoRelation && node->kind != PlanKind::kInner)
      visible[node->relation] = node->kind == PlanKind::kSubquery && node->join == JoinKind::kLeft;
    if (node->kind == PlanKind::kSubquery || node->kind == PlanKind::kGet)
      for (auto& e : node->conjuncts) settle(e.get(), visible);
    return visible;
  }

  static Visible joined(const PlanNode& node, const std::vector<Visible>& inputs) {
    Visible visible = inputs[0];
    if (node.join == JoinKind::kFull)
      for (auto& [relation, is_filled] : visible) is_filled = true;
    if (node.join == JoinKind::kMark) visible[node.relation] = false;
    if (node.join == JoinKind::kSemi || node.join == JoinKind::kAnti || node.join == JoinKind::kMark) return visible;
    for (const auto& [relation, is_filled] : inputs[1]) visible[relation] = is_filled || node.join != JoinKind::kInner;
    return visible;
  }

  Visible visit_join(PlanNode* node, std::vector<Visible>* inputs) {
    Visible both = (*inputs)[0];
    both.insert((*inputs)[1].begin(), (*inputs)[1].end());
    settle_own(node, both);
    note(*node);
    return joined(*node, *inputs);
  }

  Visible visit_shared(PlanNode* node) {
    if (node->relation == kNoRelation) return offered_[node->shared.get()];
    std::vector<bool>& flags = nullable_[node->relation];
    flags.clear();
    const Visible& offered = offered_[node->shared.get()];
    for (auto& column : node->columns) {
      const auto known = nullable_.find(column.id.relation);
      const auto seen = offered.find(column.id.relation);
      if (known != nullable_.end() && column.id.index < known->second.size())
        column.nullable = column.nullable || known->second[column.id.index];
      column.nullable = column.nullable || (seen != offered.end() && seen->second);
      flags.push_back(column.nullable);
    }
    return {{node->relation, false}};
  }

  // What the second term makes nullable is so in the rows that it reads, too.
  Visible visit_recursive(PlanNode* node) {
    const Visible first = visit(node->inputs[0].get());
    for (auto& e : node->outputs[0]) settle(e.get(), first);
    std::vector<bool> flags = flags_of(node->outputs[0]);
    for (;;) {
      set_rounds(*node->inputs[1], *node, flags);
      const Visible second = visit(node->inputs[1].get());
      for (auto& e : node->outputs[1]) settle(e.get(), second);
      note(*node);
      if (nullable_[node->relation] == flags) break;
      flags = nullable_[node->relation];
    }
    return {{node->relation, false}};
  }

  void set_rounds(const PlanNode& node, const PlanNode& recursion, const std::vector<bool>& flags) {
    if (node.kind == PlanKind::kWorking && node.shared->number == recursion.shared->number)
      nullable_[node.relation] = flags;
    for (const auto& input : node.inputs) set_rounds(*input, recursion, flags);
  }

  std::map<uint32_t, std::vector<bool>> nullable_;  // by relation
  std::map<const SharedPlan*, Visible> offered_;
};

}  // namespace

void settle_nullability(Plan* plan) { Settler().run(plan); }

}  // namespace scyper::query
