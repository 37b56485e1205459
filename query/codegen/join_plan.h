#pragma once

#include <set>
#include <vector>

#include "ir/ir.h"
#include "plan/access_path.h"

namespace scyper::query {

// In which order and how the relations of a FROM are visited: a left-deep pipeline of nested loops, index lookups and
// hash probes.
struct JoinStep {
  enum class Kind : uint8_t {
    kTable,   // through the access path
    kStream,  // the rows of a subquery, as they come
    kValues,  // one row of expressions
    kSeries,
    kUnnest,
    kFunction,
    kFeed,
    kForeign,
    kBuffer,  // materialised before the pipeline starts, visited whole
    kHash,    // materialised in a hash table before the pipeline starts, probed
  };
  const FromEntry* entry = nullptr;
  Kind kind = Kind::kTable;
  AccessPath path;
  std::vector<const BoundExpr*> on;       // left joins: all conjuncts of ON that the path does not cover
  std::vector<const BoundExpr*> filters;  // conjuncts of WHERE to check once this row is at hand
  std::vector<const BoundExpr*> local;  // kBuffer, kHash: conjuncts on this relation alone, checked when materialising
  // kHash: relation side, other side
  std::vector<std::pair<const BoundExpr*, const BoundExpr*>> keys;
  // kBuffer, kHash: columns kept
  std::vector<uint32_t> columns;
  std::vector<int> slots;
  ir::Reg store = ir::kNoReg;  // RowBuffer* or KeyTable*, when generated
};

struct JoinPlan {
  const BoundQuery* query = nullptr;
  std::vector<JoinStep> steps;
  std::vector<const BoundExpr*> constant_filters;  // conjuncts without a relation of this FROM
  bool ordered = false;                            // rows come in the query's ORDER BY
  size_t ordered_items = 0;                        // or in the order of so many of its leading items
};

// Does the expression call a user's routine? Subqueries do not count.
bool calls_routine(const BoundExpr& e);

// outer: relations whose current row is known (of enclosing queries).
JoinPlan plan_joins(const BoundQuery& query, const std::set<uint32_t>& outer, uint32_t target = ~0u);

}  // namespace scyper::query
