#include "plan/planner.h"

#include <stdexcept>
#include <utility>

#include "base/failpoint.h"
#include "base/invariant.h"
#include "plan/bounds.h"
#include "plan/builder.h"
#include "plan/eliminate.h"
#include "plan/estimate.h"
#include "plan/join_tables.h"
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
  PlanBuilder builder(next_relation);
  PlanBuilder::Built built = builder.build(query);
  Plan plan;
  plan.root = std::move(built.root);
  plan.outputs = std::move(built.outputs);
  plan.shared = builder.take_shared();
  plan.kept = builder.take_kept();
  plan.is_refused = builder.refuses();
  if (plan.is_refused) return plan;
  simplify(&plan);
  eliminate(&plan);
  Estimator estimator;
  estimator.add(plan);
  PhysicalPlanner(estimator, outer).run(&plan);
  share_repeated(&plan, outer, filter_from_ns < 0, next_relation);
  compute_early(&plan, next_relation);
  arrange_tables(&plan, estimator, filter_from_ns);
  arrange_bounds(&plan, estimator, filter_from_ns < 0);
  prune(&plan);
  return plan;
}

}  // namespace scyper::query
