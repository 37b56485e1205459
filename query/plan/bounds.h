#pragma once

#include "plan/estimate.h"
#include "plan/plan.h"

namespace scyper::query {

// Finds comparisons that no row of a table can pass, as far as the sampled statistics tell: nodes that then give no row
// test the columns' least and largest values before they run (PlanNode::tests, runtime/column_bounds.h), which is
// exact. A node is the highest one that gives no row, and one whose work is worth reading the columns. always: whatever
// the statistics say, for tests.
void arrange_bounds(Plan* plan, const Estimator& estimator, bool always);

}  // namespace scyper::query
