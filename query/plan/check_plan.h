#pragma once

#include <set>
#include <string>

#include "plan/plan.h"

namespace scyper::query {

// What is wrong with a plan; empty: nothing. A wrong plan names a column that no node below defines, takes one for NOT
// NULL that an outer join may fill with NULL, compares values of different types, or relies on an order, on unique keys
// or on single partners that its inputs do not have.
// outer: relations whose current rows are known when the plan runs.
// proves_claims: single partners and distinct rows, too. Only before joins are ordered: a tree of joins tells less.
std::string find_fault(const Plan& plan, const std::set<uint32_t>& outer, bool proves_claims = true);

// Ends by a failed CHECK that names the pass, the node and the column. Runs in every build: it costs a few
// microseconds, and a wrong plan would cost wrong answers.
void check_plan(const Plan& plan, const std::set<uint32_t>& outer, const char* pass, bool proves_claims = false);

}  // namespace scyper::query
