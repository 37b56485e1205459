#pragma once

#include <set>

#include "bind/bound.h"
#include "codegen/join_plan.h"

namespace scyper::query {

// Whether the query is run as it is written, by the pipeline of join_plan.h, without the optimiser: its relations are
// all reached through indexes, or the first rows of one of them are enough. known: relations whose current row is
// known. is_one_row: who asks looks at one row only.
bool is_simple(const BoundQuery& query, const std::set<uint32_t>& known, bool is_one_row);
// Whether such a query is expected to read so many rows that a worker should not run it between transactions.
bool is_long(const BoundQuery& query, const JoinPlan& plan);

}  // namespace scyper::query
