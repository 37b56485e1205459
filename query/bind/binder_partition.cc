#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/partitions.h"
#include "bind/view_target.h"

// The checks that partitions (PARTITION BY RANGE, LIST) add to INSERT and UPDATE.
namespace scyper::query {

namespace {

// A row that is not in `partition` need not meet what is asked of its rows; null: of all rows.
std::string if_in(const Catalog& catalog, const DeclaredPartition* partition, const std::string& condition) {
  if (partition == nullptr) return absl::StrCat("(", condition, ") IS TRUE");
  return absl::StrCat("((", partition_condition(catalog, *partition), ") AND (", condition,
                      ") IS NOT TRUE) IS NOT TRUE");
}

struct Placement {
  std::string condition;
  RowCheck check;
};

// DETAIL of a row that no partition takes.
void show_key(const Partitioning& key, const storage::TableSchema& schema, RowCheck* check) {
  std::string names;
  for (const Partitioning::Key& part : key.keys) {
    const auto column = std::find_if(schema.columns.begin(), schema.columns.end(),
                                     [&](const storage::ColumnDef& c) { return c.name == part.column; });
    if (part.column.empty() || column == schema.columns.end()) return check->detail_columns.clear();
    absl::StrAppend(&names, names.empty() ? "" : ", ", part.column);
    check->detail_columns.push_back(static_cast<uint32_t>(column - schema.columns.begin()));
  }
  check->detail_before = absl::StrCat("Partition key of the failing row contains (", names, ") = (");
  check->detail_after = ").";
}

RowCheck refusal(std::string message) {
  RowCheck check;
  check.sqlstate = "23514";
  check.message = std::move(message);
  return check;
}

std::string shown_name(const std::string& name) { return std::string(bare_name(name)); }

}  // namespace

Status Binder::bind_partition_checks(BoundDml* dml) {
  const storage::TableSchema& schema = dml->table->schema();
  const DeclaredPartition* named = dml->through == nullptr ? nullptr : dml->through->view->partition.get();
  std::vector<Placement> all;
  const auto with_row = [&](RowCheck check) {
    show_failing_row(*dml, &check);
    return check;
  };
  if (named != nullptr)
    all.push_back({absl::StrCat("(", partition_condition(catalog_, *named), ") IS TRUE"),
                   with_row(refusal(absl::StrCat("new row for relation \"", shown_name(dml->through->view->name),
                                                 "\" violates partition constraint")))});
  const auto must_be_placed = [&](TableId id, const std::string& name, const DeclaredPartition* in) {
    const std::string placed = placed_condition(catalog_, id);
    if (placed.empty()) return;
    RowCheck check = refusal(absl::StrCat("no partition of relation \"", shown_name(name), "\" found for row"));
    show_key(partitioning_of(catalog_, id), schema, &check);
    all.push_back({if_in(catalog_, in, placed), std::move(check)});
  };
  const TableId top = named == nullptr ? schema.id : named->id;
  if (named == nullptr || named->partitioning) must_be_placed(top, name_of_partitioned(catalog_, top), named);
  for (const View* view : partitions_below(catalog_, schema.id)) {
    const DeclaredPartition& partition = *view->partition;
    if (partition.partitioning && partition.id != top) must_be_placed(partition.id, view->name, &partition);
    for (const CheckRule& check : partition.checks)
      all.push_back({if_in(catalog_, &partition, absl::StrCat("(", check.expression, ") IS NOT FALSE")),
                     with_row(refusal(absl::StrCat("new row for relation \"", shown_name(view->name),
                                                   "\" violates check constraint \"", check.name, "\"")))});
  }
  const Relation* row = row_relation(&dml->new_row, *dml, schema.name);
  for (Placement& placement : all) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, bind_rule(placement.condition, row, "check constraints"));
    if (!may_change(*dml, *condition, row->id)) continue;  // held before, holds now
    placement.check.condition = std::move(condition);
    dml->checks.push_back(std::move(placement.check));
  }
  return Status();
}

}  // namespace scyper::query
