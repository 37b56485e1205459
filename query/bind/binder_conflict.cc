#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/view_target.h"
#include "plan/access_path.h"
#include "query/key_rules.h"

// INSERT ... ON CONFLICT
namespace scyper::query {

int find_target_column(const storage::TableSchema& schema, std::string_view name) {
  size_t visible = storage::visible_columns(schema);
  for (size_t i = 0; i < visible; i++)
    if (schema.columns[i].name == name) return static_cast<int>(i);
  return -1;
}

namespace {

Status without_match() {
  return sql_error("42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification");
}

}  // namespace

StatusOr<Binder::ConflictTarget> Binder::bind_conflict_target(const ast::OnConflict& conflict, BoundDml* dml,
                                                              const Relation& target) {
  ConflictTarget wanted;
  Scope scope;
  scope.add(dml->through != nullptr ? dml->through->shown.get() : &target, false);
  aggregate_clause_ = "index expressions";
  for (const auto& element : conflict.target) {
    BoundPtr expr;
    if (element.column.empty()) {
      SCYPER_ASSIGN_OR_RETURN(expr, bind(*element.expr, &scope));
    } else {
      const auto& columns = scope.relations[0]->columns;
      const auto found = std::find_if(columns.begin(), columns.end(),
                                      [&](const auto& c) { return !c.hidden && c.name == element.column; });
      if (found == columns.end())
        return error("42703", absl::StrCat("column \"", element.column, "\" does not exist"), conflict.infer_location);
      expr = make_column(scope.relations[0]->id, static_cast<uint32_t>(found - columns.begin()), found->type,
                         found->nullable, -1);
    }
    SCYPER_RETURN_IF_ERROR(show_base(dml, 0, expr.get()));
    if (expr->kind == BoundKind::kColumn)
      wanted.columns.insert(expr->index);
    else
      wanted.exprs.push_back(std::move(expr));
  }
  if (conflict.target_where == nullptr) return wanted;
  aggregate_clause_ = "index predicates";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr where, bind_condition(*conflict.target_where, &scope, "WHERE"));
  SCYPER_RETURN_IF_ERROR(show_base(dml, 0, where.get()));
  flatten_and(std::move(where), &wanted.where);
  return wanted;
}

// Exactly these columns and expressions, and a predicate that follows from the target's.
bool Binder::matches(const ConflictTarget& wanted, const storage::IndexDef& index, const Relation& target) {
  auto hidden_of = [&](uint32_t column) {
    return std::find_if(target.hidden.begin(), target.hidden.end(),
                        [&](const HiddenColumn& hidden) { return hidden.column == column; });
  };
  const size_t visible = storage::visible_columns(target.table->schema());
  std::set<uint32_t> columns;
  std::vector<const BoundExpr*> exprs;
  for (uint32_t column : index.columns) {
    if (column < visible) {
      columns.insert(column);
      continue;
    }
    const auto hidden = hidden_of(column);
    if (hidden == target.hidden.end()) return false;
    if (!hidden->is_predicate) {
      exprs.push_back(hidden->exprs[0].get());
      continue;
    }
    std::vector<const BoundExpr*> where;
    for (const BoundPtr& e : wanted.where) where.push_back(e.get());
    size_t which = 0;
    if (!implies(where, hidden->exprs, &which)) return false;
  }
  auto has = [](const auto& list, const BoundExpr& e) {
    return std::any_of(list.begin(), list.end(), [&](const auto& other) { return same(*other, e); });
  };
  return columns == wanted.columns &&
         std::all_of(exprs.begin(), exprs.end(), [&](const auto* e) { return has(wanted.exprs, *e); }) &&
         std::all_of(wanted.exprs.begin(), wanted.exprs.end(), [&](const auto& e) { return has(exprs, *e); });
}

namespace {
Status check_arbiters(const Catalog& catalog, const storage::TableSchema& schema,
                      const std::vector<uint32_t>& indexes) {
  for (const uint32_t i : indexes)
    if (key_rules(catalog, schema.indexes[i].id).is_deferrable)
      return sql_error("55000",
                       "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters");
  return absl::OkStatus();
}
}  // namespace

// The unique indexes over exactly what is named, or all of them where nothing is.
Status Binder::infer_indexes(const ast::OnConflict& conflict, BoundDml* dml, Relation* target,
                             std::vector<uint32_t>* indexes) {
  const storage::TableSchema& schema = target->table->schema();
  if (!conflict.constraint.empty()) {
    for (uint32_t i = 0; i < schema.indexes.size(); i++)
      if (bare_name(schema.indexes[i].name) == conflict.constraint && schema.indexes[i].constraint)
        indexes->push_back(i);
    if (dml->through != nullptr) indexes->clear();  // a view has no constraints
    if (!indexes->empty()) return check_arbiters(catalog_, schema, *indexes);
    const TableRules* rules = dml->through != nullptr ? nullptr : rules_of(schema);
    if (rules != nullptr) {
      for (const auto& check : rules->checks)
        if (check.name == conflict.constraint)
          return error("42809", "constraint in ON CONFLICT clause has no associated index", -1);
    }
    return error("42704",
                 absl::StrCat("constraint \"", conflict.constraint, "\" for table \"",
                              dml->through != nullptr ? dml->through->view->name : schema.name, "\" does not exist"),
                 -1);
  }
  ConflictTarget wanted;
  if (!conflict.target.empty()) {
    bind_hidden_columns(target);
    SCYPER_ASSIGN_OR_RETURN(wanted, bind_conflict_target(conflict, dml, *target));
  }
  for (uint32_t i = 0; i < schema.indexes.size(); i++) {
    const storage::IndexDef& index = schema.indexes[i];
    if (is_unique(catalog_, index) && (conflict.target.empty() || matches(wanted, index, *target)))
      indexes->push_back(i);
  }
  if (indexes->empty() && !conflict.target.empty()) return without_match();
  return check_arbiters(catalog_, schema, *indexes);
}

Status Binder::bind_conflict(const ast::InsertStatement& insert, Relation* target, BoundDml* dml) {
  const ast::OnConflict& conflict = insert.on_conflict;
  if (conflict.action == ast::ConflictAction::kNone) return absl::OkStatus();
  if (dml->view != nullptr) return error("0A000", "ON CONFLICT of views is not supported", conflict.location);
  if (conflict.action == ast::ConflictAction::kUpdate && conflict.target.empty() && conflict.constraint.empty())
    return with_hint(
        error("42601", "ON CONFLICT DO UPDATE requires inference specification or constraint name", conflict.location),
        "For example, ON CONFLICT (column_name).");
  uint16_t rights = 0;
  if (!conflict.target.empty() || !conflict.constraint.empty()) rights |= kSelectRight;
  if (conflict.action == ast::ConflictAction::kUpdate) rights |= kUpdateRight;
  std::vector<BoundPtr> visible;
  if (dml->through != nullptr) {
    const ViewChange change{DmlKind::kInsert, event_of(DmlKind::kInsert), rights};
    SCYPER_ASSIGN_OR_RETURN(auto view, view_target(*dml->through->view, "", change));
    SCYPER_ASSIGN_OR_RETURN(visible, visible_through(view.get(), dml->relation));
  } else {
    SCYPER_RETURN_IF_ERROR(check_rights(dml->table->schema(), rights));
  }
  auto bound = std::make_unique<BoundConflict>();
  SCYPER_RETURN_IF_ERROR(infer_indexes(conflict, dml, target, &bound->indexes));
  if (conflict.action == ast::ConflictAction::kUpdate) {
    bound->excluded = table_relation(dml->table, "excluded");
    auto update = std::make_unique<BoundDml>();
    update->kind = DmlKind::kUpdate;
    update->table = dml->table;
    update->through = dml->through;
    update->relation = dml->relation;
    update->source = std::make_unique<BoundQuery>();
    Scope scope;
    const Relation* shown = dml->through != nullptr ? dml->through->shown.get() : target;
    scope.add(shown, false);
    scope.add(dml->through != nullptr ? dml->through->excluded.get() : bound->excluded.get(), false);
    aggregate_clause_ = "UPDATE";
    SCYPER_RETURN_IF_ERROR(bind_set(conflict.set, &scope, update.get()));
    for (BoundPtr& condition : visible) update->source->where.push_back(std::move(condition));
    if (conflict.where != nullptr) {
      aggregate_clause_ = "WHERE";
      SCYPER_ASSIGN_OR_RETURN(BoundPtr where, bind_condition(*conflict.where, &scope, "WHERE"));
      flatten_and(std::move(where), &update->source->where);
    }
    Scope returned;
    returned.add(shown, false);
    SCYPER_RETURN_IF_ERROR(bind_returning(insert.returning, &returned, update.get()));
    SCYPER_RETURN_IF_ERROR(show_base(update.get(), bound->excluded->id));
    SCYPER_RETURN_IF_ERROR(bind_triggers(update.get()));
    SCYPER_RETURN_IF_ERROR(bind_constraints(update.get()));
    bound->update = std::move(update);
  }
  dml->conflict = std::move(bound);
  return absl::OkStatus();
}

}  // namespace scyper::query
