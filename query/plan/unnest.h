#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "plan/plan.h"

namespace scyper::query {

// The rows that a domain was taken from, under their own names.
bool offers_domain(const PlanNode& node);

// Makes a plan independent of an outer one that it refers to (Neumann, Kemper: Unnesting Arbitrary Queries, BTW 2015):
// the set D of the distinct outer values is pushed down the inner plan to where they are used; where equalities name
// inner expressions for all of them, those stand in for D.
class Unnesting {
 public:
  // What stands for an outer column in the inner plan's result.
  struct Stand {
    BoundPtr expr;
    bool is_equal = false;  // by an equality: never NULL in rows that count
    SqlType type;           // of the outer column
    bool nullable = true;   // the outer column
  };
  using Stands = std::map<ColumnId, Stand>;

  // outer: read again for D where needed; then it becomes a kShared node and `shared` gets its plan.
  Unnesting(PlanPtr* outer, uint32_t* next_relation, std::vector<std::shared_ptr<SharedPlan>>* shared);

  bool is_correlated(const PlanNode& node) const;
  bool is_correlated(const BoundExpr& expr) const;
  // Can push_down() handle the plan? To be asked before.
  bool can(const PlanNode& node) const;
  // Afterwards the plan refers to no outer column. The result says what equals each outer column that it used.
  Stands push_down(PlanPtr* node);
  // Conjuncts that join the outer plan with the result.
  static std::vector<BoundPtr> join_conjuncts(const Stands& stands);
  // Replaces outer columns by what stands for them.
  static void substitute(BoundPtr* expr, const Stands& stands);
  // Puts the order of a group's input, where an aggregate can see it, directly below the group: joins with D would
  // lose it further down.
  static void raise_order(PlanNode* group);

 private:
  using Columns = std::map<ColumnId, PlanColumn>;
  bool can_push(const PlanNode& node) const;
  Columns used_columns(const PlanNode& node) const;
  void collect(const BoundExpr& expr, Columns* columns) const;
  Stands cross(PlanPtr* node, const Columns& columns);
  PlanPtr domain(const Columns& columns, Stands* stands);
  Stands push_inner(PlanPtr* node);
  Stands push_group(PlanPtr* node);
  Stands push_join(PlanPtr* node);
  Stands push_set(PlanPtr* node);
  Stands push_input(PlanPtr* node);
  Stands push_window(PlanPtr* node);
  bool stand_by_equalities(const Columns& columns, std::vector<BoundPtr>* conjuncts, Stands* stands) const;
  PlanPtr missing_domain(const Columns& columns, Stands* stands, std::vector<BoundPtr>* conjuncts);
  void add_missing(PlanPtr* node, const Columns& columns, Stands* stands);

  PlanPtr* outer_;
  const std::set<uint32_t> relations_;
  uint32_t* next_relation_;
  std::vector<std::shared_ptr<SharedPlan>>* shared_;
  std::shared_ptr<SharedPlan> outer_plan_;  // once D was needed
};

}  // namespace scyper::query
