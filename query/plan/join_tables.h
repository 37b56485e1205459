#pragma once

#include "plan/estimate.h"
#include "plan/plan.h"

namespace scyper::query {

// Of a plan with join methods: which hash joins keep their rows in an array (PlanNode::is_direct), and which give
// filters to scans of the other side. filter_from_ns: estimated saving from which a filter is worth its code.
void arrange_tables(Plan* plan, const Estimator& estimator, double filter_from_ns);

}  // namespace scyper::query
