#include "plan/rounds.h"

#include <algorithm>
#include <set>

namespace scyper::query {

namespace {

// Numbers of the recursions whose rounds a plan reads.
void collect_rounds(const PlanNode& node, std::set<const SharedPlan*>* seen, std::set<uint32_t>* rounds) {
  if (node.kind == PlanKind::kWorking) rounds->insert(node.shared->number);
  if (node.kind == PlanKind::kShared && seen->insert(node.shared.get()).second)
    collect_rounds(*node.shared->plan, seen, rounds);
  for (const auto& input : node.inputs) collect_rounds(*input, seen, rounds);
  if (node.kind == PlanKind::kRecursive) rounds->erase(node.shared->number);
}

std::set<uint32_t> rounds_of(const PlanNode& node) {
  std::set<const SharedPlan*> seen;
  std::set<uint32_t> rounds;
  collect_rounds(node, &seen, &rounds);
  return rounds;
}

struct RoundPlans {
  std::set<const SharedPlan*> seen;
  std::set<uint32_t> inside;  // recursions
  std::vector<const SharedPlan*> plans;

  void collect(const PlanNode& node) {
    if (node.kind == PlanKind::kRecursive) inside.insert(node.shared->number);
    if (node.kind == PlanKind::kShared && seen.insert(node.shared.get()).second) {
      collect(*node.shared->plan);
      plans.push_back(node.shared.get());
    }
    for (const auto& input : node.inputs) collect(*input);
  }
};

}  // namespace

bool reads_round(const PlanNode& node) { return !rounds_of(node).empty(); }

std::vector<const SharedPlan*> plans_of_round(const PlanNode& recursion) {
  RoundPlans found;
  found.collect(*recursion.inputs[1]);
  std::vector<const SharedPlan*> plans;
  for (const SharedPlan* plan : found.plans) {
    const std::set<uint32_t> rounds = rounds_of(*plan->plan);
    const bool is_inner =
        std::any_of(rounds.begin(), rounds.end(), [&](uint32_t round) { return found.inside.count(round) != 0; });
    if (rounds.count(recursion.shared->number) != 0 && !is_inner) plans.push_back(plan);
  }
  return plans;
}

}  // namespace scyper::query
