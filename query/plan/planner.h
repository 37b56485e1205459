#pragma once

#include <set>
#include <vector>

#include "plan/plan.h"

namespace scyper::query {

// Plans one query. outer: relations whose current rows are known when it runs. next_relation: the first number that no
// relation of the program has; raised. The query must outlive the plan.
// filter_from_ns: saving from which a join's table gives filters to scans.
Plan make_plan(const BoundQuery& query, const std::set<uint32_t>& outer, double filter_from_ns,
               uint32_t* next_relation);

// Gives the relations of a copied query names of their own where theirs are taken; tells which those are.
std::vector<Relation*> rename_taken(BoundQuery* query, const std::set<uint32_t>& taken, uint32_t* next_relation);

}  // namespace scyper::query
