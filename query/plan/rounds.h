#pragma once

#include <vector>

#include "plan/plan.h"

namespace scyper::query {

// Shared plans inside of a recursive term that read the rows of the round before. They are computed anew in each round.

// Does a plan read the rows of a round of a recursion that lies around it?
bool reads_round(const PlanNode& node);
// Those of a recursion, each behind those that it reads itself. Shared plans that read a recursion inside of the second
// term as well are left to that one.
std::vector<const SharedPlan*> plans_of_round(const PlanNode& recursion);

}  // namespace scyper::query
