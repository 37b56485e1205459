#include "codegen/shared_triggers.h"

#include <algorithm>
#include <vector>

#include "query/catalog.h"

namespace scyper::query {

namespace {

bool fire_same(const std::vector<TriggerCall>& a, const std::vector<TriggerCall>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TriggerCall& x, const TriggerCall& y) {
    // whoever they run as: a cascade's run as the owner of the table
    return x.routine->trigger == y.routine->trigger && x.routine->trigger_event == y.routine->trigger_event;
  });
}

// In the order in which they run.
std::vector<const BoundDml*> changes_of(const BoundWith& with, const BoundDml* main_dml) {
  std::vector<const BoundDml*> changes;
  for (const auto& part : with.before)
    if (part->dml != nullptr) changes.push_back(part->dml.get());
  if (main_dml != nullptr) changes.push_back(main_dml);
  for (const auto& part : with.after)
    if (part->dml != nullptr) changes.push_back(part->dml.get());
  return changes;
}

}  // namespace

bool shares_triggers(const BoundDml& a, const BoundDml& b) {
  return a.triggers != nullptr && b.triggers != nullptr && a.table == b.table && a.kind == b.kind &&
         fire_same(a.triggers->before_statement, b.triggers->before_statement) &&
         fire_same(a.triggers->after_statement, b.triggers->after_statement) &&
         a.triggers->keeps_old == b.triggers->keeps_old && a.triggers->keeps_new == b.triggers->keeps_new;
}

const BoundDml& first_change(const BoundWith& with, const BoundDml* main_dml, const BoundDml& change) {
  const std::vector<const BoundDml*> changes = changes_of(with, main_dml);
  const auto found =
      std::find_if(changes.begin(), changes.end(), [&](auto* other) { return shares_triggers(*other, change); });
  return found == changes.end() ? change : **found;
}

const BoundDml& last_change(const BoundWith& with, const BoundDml* main_dml, const BoundDml& change) {
  const std::vector<const BoundDml*> changes = changes_of(with, main_dml);
  const auto found =
      std::find_if(changes.rbegin(), changes.rend(), [&](auto* other) { return shares_triggers(*other, change); });
  return found == changes.rend() ? change : **found;
}

}  // namespace scyper::query
