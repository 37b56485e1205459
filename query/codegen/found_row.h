#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "bind/relation_walk.h"
#include "codegen/generator.h"

// UPDATE and DELETE keep the rows that they have found until they change the first.
namespace scyper::query {

extern const ir::External k_rt_check_present;  // runtime/windows.cc

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

// May a row go between the time when it is found and the one when it is changed? Triggers and VOLATILE routines change
// what they like.
inline bool may_vanish(const BoundDml& dml) {
  const auto calls = [](const auto& list, auto value_of) {
    return std::any_of(list.begin(), list.end(), [&](const auto& one) {
      const BoundExpr* value = value_of(one);
      return value != nullptr && sees_changes(*value);
    });
  };
  return (dml.triggers != nullptr && !dml.triggers->before_row.empty()) ||
         calls(dml.source->where, [](const BoundPtr& e) { return e.get(); }) ||
         calls(dml.assignments, [](const ColumnAssignment& a) { return a.value.get(); }) ||
         calls(dml.returning, [](const OutputColumn& output) { return output.expr.get(); });
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
