#include "plan/planner.h"

#include <stdexcept>
#include <utility>

#include "base/failpoint.h"
#include "base/invariant.h"
#include "plan/bounds.h"
#include "plan/builder.h"
#include "plan/check_plan.h"
#include "plan/eliminate.h"
#include "plan/estimate.h"
#include "plan/join_tables.h"
#include "plan/nullability.h"
#include "plan/physical.h"
#include "plan/repeated.h"
#include "plan/simplify.h"

namespace scyper::query {

namespace {
Failpoint plan_breaks("plan.breaks"), plan_throws("plan.throws");
}  // namespace

Plan make_plan(const BoundQuery& query, const std::set<uint32_t>& outer, double filter_from_ns,
               uint32_t* next_relation) {
  INVARIANT(!plan_breaks.fires());
  if (plan_throws.fires()) throw std::out_of_range("failpoint plan.throws");
  PlanBuilder builder(outer, next_relation);
  PlanBuilder::Built built = builder.build(query);
  Plan plan;
  plan.root = std::move(built.root);
  plan.outputs = std::move(built.outputs);
  plan.shared = builder.take_shared(*plan.root);
  plan.kept = builder.take_kept();
  settle_nullability(&plan);
  check_plan(plan, outer, "building", /*proves_claims=*/true);
  simplify(&plan);
  settle_nullability(&plan);
  check_plan(plan, outer, "simplify", /*proves_claims=*/true);
  eliminate(&plan);
  check_plan(plan, outer, "eliminate", /*proves_claims=*/true);
  Estimator estimator;
  estimator.add(plan);
  PhysicalPlanner(estimator, outer).run(&plan);
  check_plan(plan, outer, "physical planning");
  share_repeated(&plan, outer, filter_from_ns < 0, next_relation);
  check_plan(plan, outer, "sharing repeated parts");
  compute_early(&plan, next_relation);
  check_plan(plan, outer, "early computation");
  arrange_tables(&plan, estimator, filter_from_ns);
  settle_nullability(&plan);  // groups may be those of the other side's keys
  arrange_bounds(&plan, estimator, filter_from_ns < 0);
  prune(&plan);
  check_plan(plan, outer, "pruning");
  return plan;
}

}  // namespace scyper::query
