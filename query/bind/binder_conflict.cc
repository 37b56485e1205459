#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"

// INSERT ... ON CONFLICT
namespace scyper::query {

namespace {

Status without_match() {
  return sql_error("42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification");
}

}  // namespace

// The unique indexes over exactly the named columns, or all of them where none are named.
Status Binder::infer_indexes(const ast::OnConflict& conflict, const storage::TableSchema& schema,
                             std::vector<uint32_t>* indexes) {
  if (!conflict.constraint.empty()) {
    for (uint32_t i = 0; i < schema.indexes.size(); i++)
      if (schema.indexes[i].name == conflict.constraint && schema.indexes[i].constraint) indexes->push_back(i);
    if (!indexes->empty()) return absl::OkStatus();
    const TableRules* rules = rules_of(schema);
    if (rules != nullptr) {
      for (const auto& check : rules->checks)
        if (check.name == conflict.constraint)
          return error("42809", "constraint in ON CONFLICT clause has no associated index", -1);
    }
    return error(
        "42704",
        absl::StrCat("constraint \"", conflict.constraint, "\" for table \"", schema.name, "\" does not exist"), -1);
  }
  if (conflict.target_where != nullptr)
    return error("0A000", "WHERE of a conflict target is not supported", conflict.target_where->location);
  std::set<uint32_t> wanted;
  for (const auto& element : conflict.target) {
    if (element.column.empty())
      return error("0A000", "expressions as conflict target are not supported", element.location);
    uint32_t column = 0;
    const size_t visible = schema.columns.size() - (schema.has_row_id ? 1 : 0);
    while (column < visible && schema.columns[column].name != element.column) column++;
    if (column == visible)
      return error("42703", absl::StrCat("column \"", element.column, "\" does not exist"), conflict.infer_location);
    wanted.insert(column);
  }
  for (uint32_t i = 0; i < schema.indexes.size(); i++) {
    const storage::IndexDef& index = schema.indexes[i];
    if (!index.unique) continue;
    if (conflict.target.empty() || std::set<uint32_t>(index.columns.begin(), index.columns.end()) == wanted)
      indexes->push_back(i);
  }
  if (indexes->empty() && !conflict.target.empty()) return without_match();
  return absl::OkStatus();
}

Status Binder::bind_conflict(const ast::InsertStatement& insert, const Relation* target, BoundDml* dml) {
  const ast::OnConflict& conflict = insert.on_conflict;
  if (conflict.action == ast::ConflictAction::kNone) return absl::OkStatus();
  if (conflict.action == ast::ConflictAction::kUpdate && conflict.target.empty() && conflict.constraint.empty())
    return with_hint(
        error("42601", "ON CONFLICT DO UPDATE requires inference specification or constraint name", conflict.location),
        "For example, ON CONFLICT (column_name).");
  auto bound = std::make_unique<BoundConflict>();
  SCYPER_RETURN_IF_ERROR(infer_indexes(conflict, dml->table->schema(), &bound->indexes));
  if (conflict.action == ast::ConflictAction::kUpdate) {
    bound->excluded = table_relation(dml->table, "excluded");
    auto update = std::make_unique<BoundDml>();
    update->kind = DmlKind::kUpdate;
    update->table = dml->table;
    update->relation = dml->relation;
    update->source = std::make_unique<BoundQuery>();
    Scope scope;
    scope.add(target, false);
    scope.add(bound->excluded.get(), false);
    aggregate_clause_ = "UPDATE";
    SCYPER_RETURN_IF_ERROR(bind_set(conflict.set, &scope, update.get()));
    if (conflict.where != nullptr) {
      aggregate_clause_ = "WHERE";
      SCYPER_ASSIGN_OR_RETURN(BoundPtr where, bind_condition(*conflict.where, &scope, "WHERE"));
      flatten_and(std::move(where), &update->source->where);
    }
    Scope returned;
    returned.add(target, false);
    SCYPER_RETURN_IF_ERROR(bind_returning(insert.returning, &returned, update.get()));
    SCYPER_RETURN_IF_ERROR(bind_triggers(update.get()));
    if (update->triggers != nullptr)
      return error("0A000", "ON CONFLICT DO UPDATE of a table with UPDATE triggers is not supported",
                   conflict.location);
    SCYPER_RETURN_IF_ERROR(bind_constraints(update.get()));
    bound->update = std::move(update);
  }
  dml->conflict = std::move(bound);
  return absl::OkStatus();
}

}  // namespace scyper::query
