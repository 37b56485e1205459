#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/partitions.h"
#include "bind/view_target.h"
#include "parse/sql_parser.h"
#include "plan/expressions.h"

// The triggers that a statement fires.
namespace scyper::query {

namespace {

// A BEFORE trigger of a cascade runs with the rights of the table's owner, as the cascade does (bind_reaction()): what
// SECURITY DEFINER does for a routine's owner.
void act_as_owner(const Role* owner, Routine* variant) {
  if (owner == nullptr || variant->is_definer) return;
  variant->is_definer = true;
  variant->access.owner = owner->id;
  absl::StrAppend(&variant->variant, " as ", owner->id);
}

// A trigger, and the partition that it is of; null: of the table.
struct FiredTrigger {
  std::shared_ptr<const Trigger> trigger;
  const DeclaredPartition* partition = nullptr;
};

}  // namespace

Status Binder::bind_triggers(BoundDml* dml) {
  const storage::TableSchema& schema = dml->schema();
  const std::string& table = schema.name;
  uint8_t event = event_of(dml->kind);
  for (const ColumnAssignment& assignment : dml->assignments) dml->named_columns.push_back(assignment.column);
  std::vector<FiredTrigger> fired;
  const View* named_view = dml->through == nullptr ? nullptr : dml->through->view;
  const auto add = [&](const std::string& relation, const DeclaredPartition* partition, bool is_named) {
    for (auto it = catalog_.triggers.lower_bound({relation, ""});
         it != catalog_.triggers.end() && it->first.first == relation; ++it) {
      const Trigger& trigger = *it->second;
      const bool is_meant =
          trigger.columns.empty() || event != Trigger::kUpdate ||
          std::any_of(dml->assignments.begin(), dml->assignments.end(), [&](const ColumnAssignment& a) {
            const std::string& name = schema.columns[a.column].name;
            return std::find(trigger.columns.begin(), trigger.columns.end(), name) != trigger.columns.end();
          });
      const bool counts = trigger.per_row || is_named;
      if ((trigger.events & event) != 0 && trigger.fires() && is_meant && counts)
        fired.push_back({it->second, partition});
    }
  };
  add(table, nullptr, named_view == nullptr || named_view->partition == nullptr);
  if (dml->view == nullptr && partitioning_of(catalog_, schema.id))
    for (const View* view : partitions_below(catalog_, schema.id))
      add(view->name, view->partition.get(), named_view != nullptr && named_view->name == view->name);
  if (fired.empty()) return absl::OkStatus();
  dml->triggers = std::make_unique<BoundTriggers>();
  // conditions are of triggers of tables
  auto row_of = [&](std::string name) {
    return dml->view != nullptr ? new_relation(RelationKind::kValues, std::move(name))
                                : table_relation(dml->table, std::move(name));
  };
  auto old_row = row_of("old");
  auto new_row = row_of("new");
  dml->triggers->old_relation = old_row->id;
  dml->triggers->new_relation = new_row->id;
  bool changes_rows = false;
  for (const auto& [trigger, partition] : fired) {
    SCYPER_ASSIGN_OR_RETURN(TriggerCall call, bind_trigger(trigger, event, partition, *old_row, *new_row));
    dml->triggers->keeps_old |= !trigger->old_table.empty();
    dml->triggers->keeps_new |= !trigger->new_table.empty();
    auto* list = trigger->per_row
                     ? trigger->before || trigger->instead ? &dml->triggers->before_row : &dml->triggers->after_row
                 : trigger->before ? &dml->triggers->before_statement
                                   : &dml->triggers->after_statement;
    list->push_back(std::move(call));
    changes_rows |= trigger->per_row && trigger->before;
  }
  if (dml->kind == DmlKind::kUpdate && changes_rows && dml->view == nullptr) assign_all_columns(dml);
  program_->volatile_result = true;  // what they write is logged as rows
  return absl::OkStatus();
}

StatusOr<TriggerCall> Binder::bind_trigger(const std::shared_ptr<const Trigger>& trigger, uint8_t event,
                                           const DeclaredPartition* partition, const Relation& old_row,
                                           const Relation& new_row) {
  auto range = catalog_.routines.equal_range(trigger->function);
  auto found = std::find_if(range.first, range.second, [](const auto& e) { return e.second->is_trigger; });
  if (found == range.second)
    return error("42883", absl::StrCat("function ", trigger->function, "() does not exist"), -1);
  auto variant = std::make_shared<Routine>(*found->second);
  variant->trigger = trigger;
  variant->trigger_event = event;
  variant->variant = absl::StrCat("trigger ", trigger->table, " ", trigger->name, " ", event);
  variant->trigger_depth = 1;
  if (!reacting_.empty() && trigger->before) {
    act_as_owner(current_role(catalog_.roles), variant.get());
    variant->trigger_depth = 2;  // the action of a foreign key is a trigger of PostgreSQL
    variant->variant += " in action";
  }
  TriggerCall call;
  call.routine = std::move(variant);
  program_->callees.push_back(call.routine);
  call.callee = static_cast<uint32_t>(program_->callees.size() - 1);
  if (partition != nullptr && trigger->per_row) {  // of a row that is in the partition, before and after
    std::vector<BoundPtr> within;
    const std::string condition = partition_condition(catalog_, *partition);
    for (const Relation* row :
         {event != Trigger::kInsert ? &old_row : nullptr, event != Trigger::kDelete ? &new_row : nullptr}) {
      if (row == nullptr) continue;
      SCYPER_ASSIGN_OR_RETURN(BoundPtr is_within, bind_rule(condition, row, "WHEN"));
      within.push_back(std::move(is_within));
    }
    call.when = join_conditions(BoundKind::kAnd, std::move(within), -1);
  }
  if (trigger->when.empty()) return call;
  SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(trigger->when));
  Scope scope;
  if (event != Trigger::kInsert) scope.add(&old_row, false);
  if (event != Trigger::kDelete) scope.add(&new_row, false);
  const VariableScope* saved = std::exchange(variables_, nullptr);
  auto when = bind_condition(*expr, &scope, "WHEN");
  variables_ = saved;
  SCYPER_RETURN_IF_ERROR(when.status());
  std::vector<BoundPtr> all;
  if (call.when != nullptr) all.push_back(std::move(call.when));
  all.push_back(*std::move(when));
  call.when = all.size() == 1 ? std::move(all[0]) : join_conditions(BoundKind::kAnd, std::move(all), -1);
  return call;
}

Status Binder::check_trigger_condition(const ast::Expr& expr, const Trigger& trigger,
                                       std::shared_ptr<storage::Table> table) {
  const auto old_row = table_relation(table, "old"), new_row = table_relation(table, "new");
  Scope scope;
  scope.add(old_row.get(), false);
  scope.add(new_row.get(), false);
  aggregate_clause_ = "trigger WHEN conditions";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, &scope));
  const BoundExpr* query = nullptr;
  std::vector<const BoundExpr*> columns;
  visit(*bound, [&](const BoundExpr& e) {
    if (e.query != nullptr && query == nullptr) query = &e;
    if (e.kind == BoundKind::kColumn) columns.push_back(&e);
  });
  if (query != nullptr) return error("0A000", "cannot use subquery in trigger WHEN condition", query->location);
  SCYPER_ASSIGN_OR_RETURN(const BoundPtr condition, coerce_boolean(std::move(bound), "WHEN"));  // `columns` lie in it
  for (const BoundExpr* column : columns) {
    const bool is_old = column->relation == old_row->id;
    if (!trigger.per_row)
      return error("42P17", "statement trigger's WHEN condition cannot reference column values", column->location);
    if (is_old && (trigger.events & Trigger::kInsert) != 0)
      return error("42P17", "INSERT trigger's WHEN condition cannot reference OLD values", column->location);
    if (!is_old && (trigger.events & Trigger::kDelete) != 0)
      return error("42P17", "DELETE trigger's WHEN condition cannot reference NEW values", column->location);
    const TableRules* rules = rules_of(table->schema());
    if (!is_old && trigger.before && rules != nullptr && column->index < rules->columns.size() &&
        !rules->columns[column->index].generated_text.empty())
      return with_detail(
          error("42P17", "BEFORE trigger's WHEN condition cannot reference NEW generated columns", column->location),
          absl::StrCat("Column \"", table->schema().columns[column->index].name, "\" is a generated column."));
  }
  return absl::OkStatus();
}

// A trigger may change any column of the row but the one that decides the partition. Generated columns are computed
// from what it leaves: bind_constraints() assigns them.
void Binder::assign_all_columns(BoundDml* dml) {
  const storage::TableSchema& schema = dml->table->schema();
  const TableRules* rules = rules_of(schema);
  size_t visible = storage::visible_columns(schema);
  for (uint32_t c = 0; c < visible; c++) {
    bool fixed = schema.scheme != storage::PartitionScheme::kShared && schema.partition_column == c;
    bool assigned = std::any_of(dml->assignments.begin(), dml->assignments.end(),
                                [&](const ColumnAssignment& a) { return a.column == c; });
    const bool is_generated = rules != nullptr && !rules->columns[c].generated_text.empty();
    if (fixed || assigned || is_generated) continue;
    ColumnAssignment same;
    same.column = c;
    same.value = make_column(dml->relation, c, schema.columns[c].type, !schema.columns[c].not_null, -1);
    dml->assignments.push_back(std::move(same));
  }
}

}  // namespace scyper::query
