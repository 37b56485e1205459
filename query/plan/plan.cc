#include "plan/plan.h"

#include <algorithm>
#include <utility>

#include "plan/expressions.h"

namespace scyper::query {

PlanPtr make_node(PlanKind kind) {
  auto node = std::make_unique<PlanNode>();
  node->kind = kind;
  return node;
}

PlanPtr make_join(JoinKind kind, PlanPtr left, PlanPtr right) {
  PlanPtr node = make_node(PlanKind::kJoin);
  node->join = kind;
  node->inputs.push_back(std::move(left));
  node->inputs.push_back(std::move(right));
  return node;
}

PlanPtr make_filter(PlanPtr input, std::vector<BoundPtr> conjuncts) {
  if (conjuncts.empty()) return input;
  PlanPtr node = make_node(PlanKind::kFilter);
  node->inputs.push_back(std::move(input));
  node->conjuncts = std::move(conjuncts);
  return node;
}

void collect_produced(const PlanNode& node, std::set<uint32_t>* relations) {
  switch (node.kind) {
    case PlanKind::kOneRow:
      return;
    case PlanKind::kGet:
    case PlanKind::kGroup:
    case PlanKind::kSetOp:
    case PlanKind::kRecursive:
    case PlanKind::kWorking:
      relations->insert(node.relation);
      return;
    case PlanKind::kShared:
      if (node.relation != kNoRelation)
        relations->insert(node.relation);
      else
        collect_produced(*node.shared->plan, relations);
      return;
    case PlanKind::kMap:
    case PlanKind::kValues:
    case PlanKind::kFunction:
    case PlanKind::kSubquery:
    case PlanKind::kWindow:
      relations->insert(node.relation);
      break;
    case PlanKind::kJoin:
      if (node.join == JoinKind::kMark) relations->insert(node.relation);
      collect_produced(*node.inputs[0], relations);
      if (node.join == JoinKind::kInner || node.join == JoinKind::kLeft || node.join == JoinKind::kFull ||
          node.join == JoinKind::kSingle)
        collect_produced(*node.inputs[1], relations);
      return;
    case PlanKind::kFilter:
    case PlanKind::kInner:
    case PlanKind::kSort:
    case PlanKind::kUnique:
      break;
  }
  for (const auto& input : node.inputs) collect_produced(*input, relations);
}

std::set<uint32_t> produced_by(const PlanNode& node) {
  std::set<uint32_t> relations;
  collect_produced(node, &relations);
  return relations;
}

void for_each_own(PlanNode* node, const std::function<void(BoundPtr&)>& f) {
  for (auto& e : node->conjuncts) f(e);
  for (auto& e : node->doubtful) f(e);
  for (auto& e : node->exprs) f(e);
  for (auto& list : node->outputs)
    for (auto& e : list) f(e);
  for (auto& aggregate : node->aggregates) {
    for (auto& arg : aggregate.args) f(arg);
    if (aggregate.filter != nullptr) f(aggregate.filter);
  }
  for (auto& call : node->windows) for_each_expr(&call, f);
  for (auto& term : node->order) f(term.expr);
  if (node->limit != nullptr) f(node->limit);
  if (node->offset != nullptr) f(node->offset);
  for (auto& key : node->keys) {
    f(key.left);
    f(key.right);
  }
}

void visit_own(const PlanNode& node, const std::function<void(const BoundExpr&)>& f) {
  // const in effect: the callback gets expressions it may not change
  for_each_own(const_cast<PlanNode*>(&node), [&](BoundPtr& e) { visit(*e, f); });
  if (node.kind == PlanKind::kSubquery) visit(*node.owned->query, f);
}

namespace {
// Relations that a subtree uses and defines. Shared plans are looked into once each. What a domain of unnesting refers
// to belongs to the node that offers its rows, not to the copies of its values: those hold the values for all outer
// rows, which does no harm.
struct Uses {
  std::set<uint32_t> used, defined;
  std::set<const SharedPlan*> seen;

  void collect(const PlanNode& node) {
    for_each_own(const_cast<PlanNode*>(&node), [&](BoundPtr& e) { collect_relations(*e, &used); });
    if (node.kind == PlanKind::kSubquery) collect_relations(*node.owned->query, &used);
    defined.insert(node.relation);
    if (node.kind == PlanKind::kShared) collect_produced(node, &defined);
    const bool is_reader = node.kind == PlanKind::kShared && node.shared->plan != nullptr;
    const bool is_copy = is_reader && node.shared->is_domain && node.relation != kNoRelation;
    if (is_reader && !is_copy && seen.insert(node.shared.get()).second) collect(*node.shared->plan);
    for (const auto& input : node.inputs) collect(*input);
  }
};
}  // namespace

std::set<uint32_t> free_relations(const PlanNode& node) {
  Uses uses;
  uses.collect(node);
  std::set<uint32_t> free;
  for (uint32_t relation : uses.used)
    if (uses.defined.count(relation) == 0) free.insert(relation);
  return free;
}

bool has_effects(const PlanNode& node) {
  bool found = false;
  for_each_own(const_cast<PlanNode*>(&node), [&](BoundPtr& e) { found |= is_volatile(*e) || has_subquery(*e); });
  return found || node.kind == PlanKind::kFunction || node.kind == PlanKind::kSubquery ||
         std::any_of(node.inputs.begin(), node.inputs.end(), [](const PlanPtr& in) { return has_effects(*in); });
}

}  // namespace scyper::query
