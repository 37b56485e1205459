#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "bind/relation_walk.h"
#include "codegen/generator.h"

// UPDATE and DELETE keep the rows that they have found until they change the first.
namespace scyper::query {

// The columns that a change keeps of a row that it has found.
struct FoundRow {
  std::vector<SqlType> types = {make_type(TypeId::kInt8), make_type(TypeId::kInt8)};  // partition, tid, then:
  std::vector<size_t> places;  // of the assigned values; 0: computed when the row's turn has come
  // relation and column: what RETURNING and the values computed late want of the other relations
  std::vector<std::pair<uint32_t, uint32_t>> extra;
  size_t first_extra = 0;
};

// all_late: each value is computed when the row's turn has come, if it comes.
inline FoundRow found_row(const BoundDml& dml, bool all_late) {
  FoundRow found;
  for (const auto& assignment : dml.assignments) {
    found.places.push_back(all_late || sees_changes(*assignment.value) ? 0 : found.types.size());
    if (found.places.back() != 0) found.types.push_back(assignment.value->type);
  }
  found.first_extra = found.types.size();
  for (const auto& entry : dml.source->from) {
    std::set<uint32_t> columns;
    if (entry.relation->id == dml.relation) continue;
    for (const auto& output : dml.returning) collect_columns(*output.expr, entry.relation->id, &columns);
    for (size_t i = 0; i < found.places.size(); i++)
      if (found.places[i] == 0) collect_columns(*dml.assignments[i].value, entry.relation->id, &columns);
    for (uint32_t column : columns) {
      found.extra.emplace_back(entry.relation->id, column);
      found.types.push_back(entry.relation->columns[column].type);
    }
  }
  return found;
}

// Takes the conditions that call a VOLATILE routine out of a plan for one table.
inline std::vector<const BoundExpr*> take_late_filters(JoinPlan* plan) {
  if (plan->steps.size() != 1) return {};
  std::vector<const BoundExpr*>& filters = plan->steps[0].filters;
  std::vector<const BoundExpr*> late;
  std::erase_if(filters, [&](const BoundExpr* filter) {
    const bool is_late = sees_changes(*filter);
    if (is_late) late.push_back(filter);
    return is_late;
  });
  return late;
}

}  // namespace scyper::query
