#pragma once

#include <set>
#include <vector>

#include "plan/estimate.h"
#include "plan/plan.h"

namespace scyper::query {

// Nanoseconds per row, measured on this code (findings/compilation.md section 3 has the hand-written limits). Only
// their ratios matter.
struct CostModel {
  double scan = 0.7;
  double filter = 0.5;
  double build_cached = 12;  // a row put into a table; of those that no cache holds below
  double build_memory = 28;
  double probe_cached = 3;  // hash table within the second level cache
  double probe_shared = 8;  // within the third
  double probe_memory = 18;
  double lookup = 200;  // of a whole key in an index, cold, by a call
  double seek = 400;    // of a range in an ordered index
  double index_next = 40;
  double loop = 1;  // a pair of a nested loop
  double output = 1;
  double aggregate = 2;  // of an input that is at hand

  double build(double rows) const { return rows * (rows < 1 << 18 ? build_cached : build_memory); }
  double probe(double build_rows) const {
    if (build_rows < 1 << 13) return probe_cached;
    return build_rows < 1 << 19 ? probe_shared : probe_memory;
  }
};

// Orders inner joins and decides how each operator runs.
// outer: relations whose current rows are known when the plan runs.
class PhysicalPlanner {
 public:
  PhysicalPlanner(const Estimator& estimator, std::set<uint32_t> outer)
      : estimator_(estimator), outer_(std::move(outer)) {}
  void run(Plan* plan);

  // For join ordering: a join of two planned inputs by these conjuncts, in the cheaper direction and manner.
  PlanPtr make_inner(PlanPtr a, PlanPtr b, std::vector<BoundPtr> conjuncts);
  struct JoinChoice {
    double cost = 0;
    JoinMethod method = JoinMethod::kHash;
    bool swapped = false;  // b probes, a is built
  };
  JoinChoice choose_inner(const PlanNode& a, double a_rows, double a_cost, const PlanNode& b, double b_rows,
                          double b_cost, bool has_equality, bool a_is_get, bool b_is_get,
                          const std::vector<const BoundExpr*>& conjuncts, double rows) const;
  const Estimator& estimator() const { return estimator_; }
  const CostModel& costs() const { return costs_; }

 private:
  void visit(PlanPtr* node);
  void visit_set(PlanNode* node);
  void visit_get(PlanNode* node);
  double path_cost(const AccessPath& path, const std::vector<const BoundExpr*>& conjuncts, double rows) const;
  void visit_inner(PlanPtr* node);
  void visit_join(PlanNode* node);
  void visit_group(PlanNode* node);
  double lookup_cost(const PlanNode& get, const std::set<uint32_t>& bound,
                     const std::vector<const BoundExpr*>& conjuncts, AccessPath* path) const;
  void make_keys(PlanNode* join);

  const Estimator& estimator_;
  const std::set<uint32_t> outer_;
  const CostModel costs_;
};

// Order of inner joins by dynamic programming over connected subgraphs and their complements (Moerkotte, Neumann:
// DPccp, VLDB 2006), greedily for more than kExactInputsMax inputs. Inputs are planned; the result is a tree of kJoin.
PlanPtr order_joins(PhysicalPlanner* planner, std::vector<PlanPtr> inputs, std::vector<BoundPtr> conjuncts);

// Moves functions of one side of a join into that side, where it pays (early.cc).
void compute_early(Plan* plan, uint32_t* next_relation);
// Fills PlanNode::needed and SharedPlan::columns.
void prune(Plan* plan);

}  // namespace scyper::query
