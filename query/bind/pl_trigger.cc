#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/make.h"
#include "bind/pl_binder.h"
#include "compile/transition_scope.h"

// Trigger functions: OLD and NEW are records, TG_... constants, the row that RETURN gives is the result.
namespace scyper::query {

// variable: holds the address of the table's rows.
void PlBinder::add_transition(const std::string& name, const std::vector<RelationColumn>& columns, uint32_t variable,
                              Binder* binder) {
  TransitionTable table;
  table.rows = std::make_shared<CommonQuery>();
  table.rows->is_part = true;
  table.rows->columns = columns;
  table.variable = variable;
  binder->transition_tables_[name] = table.rows;
  binder->program_->transitions.push_back(std::move(table));
}

// Of a statement that a trigger function runs by EXECUTE: the addresses are the last ones of its parameters.
Status PlBinder::see_transitions(size_t parameters, Binder* binder) {
  const Trigger* trigger = TransitionScope::current();
  if (trigger == nullptr) return absl::OkStatus();
  SCYPER_ASSIGN_OR_RETURN(const auto columns, binder->relation_columns(trigger->table, -1));
  const std::vector<std::string> names = transition_names(*trigger);
  auto variable = static_cast<uint32_t>(parameters - names.size());
  for (const std::string& name : names) add_transition(name, columns, variable++, binder);
  return absl::OkStatus();
}

Status PlBinder::bind_trigger_variables(StepList* out) {
  BoundProgram& program = *binder_.program_;
  const Trigger& trigger = *routine_.trigger;
  VariableScope& outer = *scope_;
  SCYPER_ASSIGN_OR_RETURN(auto columns, binder_.relation_columns(trigger.table, -1));
  bool has_old = trigger.per_row && routine_.trigger_event != Trigger::kInsert;
  bool has_new = trigger.per_row && routine_.trigger_event != Trigger::kDelete;
  if (has_old) outer.records["old"] = new_record(columns);
  if (has_new) outer.records["new"] = new_record(columns);
  for (auto& [name, record] : outer.records) record->present = true;
  for (const std::string& name : transition_names(trigger))
    add_transition(name, columns, binder_.new_variable("", make_type(TypeId::kInt8)), &binder_);
  program.parameters = static_cast<uint32_t>(program.variables.size());
  for (const char* name : {"old", "new"}) {  // NULL where the event has none
    if (outer.records.count(name) != 0) continue;
    Record* record = new_record(columns);
    record->absent = true;
    outer.records[name] = record;
  }
  program.result_variables.push_back(binder_.new_variable("", make_type(TypeId::kInt4)));
  program.columns.push_back({"skip", make_type(TypeId::kInt4), true, false});
  if (trigger.per_row)
    for (const auto& column : columns) {
      program.result_variables.push_back(binder_.new_variable("", column.type));
      program.columns.push_back(column);
    }
  returns_row_ = true;
  auto constant = [&](const char* name, const SqlType& type, BoundPtr value) {
    auto step = std::make_unique<Step>();
    step->kind = StepKind::kAssign;
    step->variable = binder_.new_variable(name, type);
    step->expr = std::move(value);
    outer.variables[name] = step->variable;
    out->push_back(std::move(step));
  };
  SqlType text = make_type(TypeId::kText);
  auto text_constant = [&](const char* name, std::string value) {
    constant(name, text, make_text_constant(text, std::move(value), -1));
  };
  text_constant("tg_name", trigger.name);
  text_constant("tg_when", trigger.instead ? "INSTEAD OF" : trigger.before ? "BEFORE" : "AFTER");
  text_constant("tg_level", trigger.per_row ? "ROW" : "STATEMENT");
  text_constant("tg_op", routine_.trigger_event == Trigger::kInsert   ? "INSERT"
                         : routine_.trigger_event == Trigger::kDelete ? "DELETE"
                                                                      : "UPDATE");
  text_constant("tg_table_name", std::string(bare_name(trigger.table)));
  text_constant("tg_relname", std::string(bare_name(trigger.table)));
  text_constant("tg_table_schema", std::string(schema_of(trigger.table)));
  SqlType integer = make_type(TypeId::kInt4);
  constant("tg_nargs", integer, make_constant(integer, int_datum(static_cast<int64_t>(trigger.arguments.size())), -1));
  std::string items;
  for (const auto& argument : trigger.arguments) {
    absl::StrAppend(&items, items.empty() ? "" : ",", "\"");
    for (char c : argument) absl::StrAppend(&items, c == '"' || c == '\\' ? "\\" : "", std::string(1, c));
    items += '"';
  }
  if (!items.empty()) items = absl::StrCat("[0:", trigger.arguments.size() - 1, "]={", items, "}");
  SqlType array = make_array(text);
  constant("tg_argv", array,
           items.empty() ? make_null(array, -1) : make_cast(make_text_constant(text, items, -1), array, true));
  return absl::OkStatus();
}

// RETURN NULL skips the row; what a trigger that fires after it or once per statement returns is ignored.
Status PlBinder::bind_trigger_return(const plpgsql::Return& statement, StepList* out) {
  if (statement.value == nullptr)
    return binder_.error("42601", "missing expression at or near \";\"", statement.location);
  return bind_trigger_row(*statement.value, statement, out);
}

// A CASE of rows decides which of them is returned, as IF would.
Status PlBinder::bind_trigger_case(const ast::Case& choice, const plpgsql::Return& statement, StepList* out) {
  auto step = new_step(StepKind::kIf, statement);
  for (const ast::CaseWhen& when : choice.whens) {
    BoundPtr test;
    if (choice.arg == nullptr) {
      SCYPER_ASSIGN_OR_RETURN(test, condition(*when.condition));
    } else {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr given, binder_.bind(*choice.arg, nullptr));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr value, binder_.bind(*when.condition, nullptr));
      SCYPER_ASSIGN_OR_RETURN(test,
                              binder_.make_operator("=", std::move(given), std::move(value), when.condition->location));
    }
    StepList body;
    SCYPER_RETURN_IF_ERROR(bind_trigger_row(*when.result, statement, &body));
    step->branches.emplace_back(std::move(test), std::move(body));
  }
  const ast::Literal none;
  SCYPER_RETURN_IF_ERROR(bind_trigger_row(
      choice.otherwise == nullptr ? static_cast<const ast::Expr&>(none) : *choice.otherwise, statement, &step->body));
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_trigger_row(const ast::Expr& value, const plpgsql::Return& statement, StepList* out) {
  if (const auto* choice = ast::node_if<ast::Case>(&value); choice != nullptr && routine_.trigger->per_row)
    return bind_trigger_case(*choice, statement, out);
  const BoundProgram& program = *binder_.program_;
  auto flag = [&](int64_t value) {
    auto step = new_step(StepKind::kAssign, statement);
    step->variable = program.result_variables[0];
    step->expr = make_constant(make_type(TypeId::kInt4), int_datum(value), -1);
    out->push_back(std::move(step));
  };
  const auto* literal = ast::node_if<ast::Literal>(&value);
  const auto* ref = ast::node_if<ast::ColumnRef>(&value);
  bool is_null = literal != nullptr && literal->type == ast::LiteralType::kNull;
  // OLD of an INSERT and NEW of a DELETE are NULL
  if (ref != nullptr && !ref->star && ref->name.size() == 1)
    is_null |= (ref->name[0] == "old" && routine_.trigger_event == Trigger::kInsert) ||
               (ref->name[0] == "new" && routine_.trigger_event == Trigger::kDelete);
  flag(is_null ? 1 : 0);
  if (!is_null && routine_.trigger->per_row) {
    std::vector<uint32_t> row(program.result_variables.begin() + 1, program.result_variables.end());
    SCYPER_RETURN_IF_ERROR(assign_row(value, nullptr, row, "trigger", statement, out));
  }
  out->push_back(new_step(StepKind::kReturn, statement));
  return absl::OkStatus();
}

}  // namespace scyper::query
