#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/partitions.h"
#include "bind/relation_walk.h"
#include "bind/view_target.h"

// Targets of INSERT, UPDATE and DELETE: tables, views that have INSTEAD OF triggers for it, and tables behind views.
namespace scyper::query {

namespace {

std::shared_ptr<const storage::TableSchema> schema_of_view(const View& view) {
  auto schema = std::make_shared<storage::TableSchema>();
  schema->name = view.name;
  for (size_t i = 0; i < view.column_names.size(); i++)
    schema->columns.push_back({view.column_names[i], view.column_types[i], false});
  return schema;
}

}  // namespace

Status Binder::bind_target(const ast::TableRef& ref, uint16_t rights, std::string_view change, BoundDml* dml) {
  const uint8_t event = event_of(dml->kind);
  const View* view = catalog_.find_view(ref.name.back(), false);
  const bool is_transition = ref.name.size() == 1 && transition_tables_.count(ref.name[0]) != 0;
  if (view == nullptr || is_transition) {
    SCYPER_ASSIGN_OR_RETURN(dml->table, find_table(ref, rights, change));
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(check_schema_usage(view->name, ref.location));
  if (has_trigger_instead(catalog_, view->name, event)) {
    SCYPER_RETURN_IF_ERROR(check_rights(*view, rights));
    if (view_depth_ == 0) used_relations_.insert(view->name);
    dml->view = schema_of_view(*view);
    return absl::OkStatus();
  }
  SCYPER_ASSIGN_OR_RETURN(dml->through, view_target(*view, ref.alias.name, {dml->kind, event, rights}));
  if (dml->through->triggered != nullptr)
    dml->view = schema_of_view(*dml->through->triggered);
  else
    dml->table = dml->through->base->table;
  return absl::OkStatus();
}

// The target of UPDATE and DELETE, as the first relation of the query over it.
Status Binder::add_target(const ast::TableRef& ref, int32_t location, Scope* scope, BoundDml* dml) {
  if (ref.only && partitioning_of(catalog_, ref.name.back()))  // the rows are its partitions'
    dml->source->where.push_back(make_constant(make_type(TypeId::kBool), int_datum(0), -1));
  if (dml->through == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(auto target, target_relation(ref, *dml));
    dml->relation = target->id;
    return add_relation(std::move(target), scope, dml->source.get(), JoinType::kInner, location);
  }
  ViewTarget& view = *dml->through;
  dml->relation = view.base_id;
  FromEntry entry;
  entry.relation = std::move(view.base);
  dml->source->from.push_back(std::move(entry));
  scope->add(view.shown.get(), false);
  for (ViewTarget::Condition& condition : view.conditions)
    for (BoundPtr& conjunct : condition.where) dml->source->where.push_back(std::move(conjunct));
  return absl::OkStatus();
}

// What WHERE, SET and RETURNING call it by.
StatusOr<std::unique_ptr<Relation>> Binder::target_relation(const ast::TableRef& ref, const BoundDml& dml) {
  const std::string& alias = ref.alias.name.empty() ? dml.schema().name : ref.alias.name;
  if (dml.view == nullptr) {
    auto relation = table_relation(dml.table, alias);
    if (dml.kind != DmlKind::kInsert) bind_hidden_columns(relation.get());
    return relation;
  }
  if (dml.kind != DmlKind::kInsert) return view_relation(*catalog_.find_view(dml.view->name, false), alias, 0);
  auto relation = new_relation(RelationKind::kValues, alias);
  for (const auto& column : dml.view->columns) relation->columns.push_back({column.name, column.type, true, false});
  return relation;
}

// See BoundDml::view.
void Binder::keep_view_rows(BoundDml* dml) {
  auto& outputs = dml->source->outputs;
  const Relation& target = *dml->source->from[0].relation;
  for (uint32_t c = 0; c < dml->view->columns.size(); c++) {
    const RelationColumn& column = target.columns[c];
    outputs.push_back({column.name, make_column(target.id, c, column.type, column.nullable, -1), false});
  }
  for (const auto& assignment : dml->assignments) outputs.push_back({"", clone(*assignment.value), false});
  std::set<std::pair<uint32_t, uint32_t>> seen;
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    if (e.kind != BoundKind::kColumn || e.relation == dml->relation) return;
    const bool is_around = std::any_of(dml->source->from.begin(), dml->source->from.end(),
                                       [&](const auto& entry) { return entry.relation->id == e.relation; });
    if (!is_around || !seen.insert({e.relation, e.index}).second) return;
    dml->others.emplace_back(e.relation, e.index);
    outputs.push_back({"", make_column(e.relation, e.index, e.type, e.nullable, -1), false});
  };
  for (auto& output : dml->returning) walk.walk(output.expr.get());
}

}  // namespace scyper::query
