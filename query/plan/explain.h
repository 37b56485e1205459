#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace scyper::query {

// What a node did, counted by generated code (EXPLAIN ANALYZE).
struct NodeCounts {
  int64_t rows = 0;
};

// A plan as text, a node per line, or as JSON, in PostgreSQL's manner with the estimates of this optimiser. The counts
// are by node, empty without ANALYZE.
std::string explain_text(const Plan& plan, const std::map<const PlanNode*, NodeCounts>& counts);
std::string explain_json(const Plan& plan, const std::map<const PlanNode*, NodeCounts>& counts);
std::string show_expression(const BoundExpr& expr, const std::map<uint32_t, const Relation*>& relations);

}  // namespace scyper::query
