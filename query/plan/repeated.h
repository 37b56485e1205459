#pragma once

#include <cstdint>
#include <set>

#include "plan/plan.h"

namespace scyper::query {

// Joins, groups and what lies on them that occur several times in a plan, with the same conditions on the same tables,
// are computed once and kept, where the estimates say that this saves work: a subquery of HAVING often repeats the
// query around it. Runs on a physical plan; estimates follow. outer: relations whose rows are known while the plan
// runs. always: whatever it saves, for tests.
void share_repeated(Plan* plan, const std::set<uint32_t>& outer, bool always, uint32_t* next_relation);

}  // namespace scyper::query
