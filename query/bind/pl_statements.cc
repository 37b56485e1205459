#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/make.h"
#include "bind/pl_binder.h"
#include "parse/conditions.h"
#include "parse/printer.h"
#include "parse/setting_text.h"
#include "parse/sql_parser.h"

// The statements of PL/pgSQL, one by one; blocks, declarations and names are in pl_binder.cc.
namespace scyper::query {

Status PlBinder::bind_assign(const plpgsql::Assign& assign, StepList* out) {
  auto step = new_step(StepKind::kAssign, assign);
  const ast::Expr* target = assign.target.get();
  const auto* subscript = ast::node_if<ast::Subscript>(target);
  if (subscript != nullptr) target = subscript->arg.get();
  ast::Name name;
  if (const auto* ref = ast::node_if<ast::ColumnRef>(target))
    name = ref->name;
  else if (const auto* parameter = ast::node_if<ast::Parameter>(target))
    name = {absl::StrCat("$", parameter->number)};
  else
    return binder_.error("0A000", "this assignment target is not supported", assign.location);
  if (Record* record = find_record(name); record != nullptr && subscript == nullptr)
    return assign_row(*assign.value, record, record->variables, "assign", assign, out);
  SCYPER_ASSIGN_OR_RETURN(step->variable, target_variable(name, assign.location));
  SqlType type = binder_.program_->variables[step->variable].type;
  if (subscript != nullptr) {
    if (binder_.program_->variables[step->variable].domain_call != kNoVariable)
      return binder_.error("0A000", "assigning to parts of a variable whose domain has constraints is not supported",
                           assign.location);
    if (type.id == TypeId::kJsonb) {
      binder_.aggregate_clause_ = "this context";
      SCYPER_ASSIGN_OR_RETURN(BoundPtr value, binder_.bind(*assign.value, nullptr));
      SCYPER_ASSIGN_OR_RETURN(
          step->expr,
          binder_.replace_document_part(make_variable(step->variable, type, true, assign.location), subscript->indexes,
                                        std::move(value), name.back(), nullptr, assign.location));
      out->push_back(std::move(step));
      return absl::OkStatus();
    }
    if (subscript->indexes.size() != 1)
      return binder_.error("0A000", "multidimensional arrays are not supported", assign.location);
    if (type.id != TypeId::kArray)
      return binder_.error(
          "42804", absl::StrCat("cannot subscript type ", type_name(type), " because it does not support subscripting"),
          assign.location);
    if (subscript->indexes[0].slice) {
      binder_.aggregate_clause_ = "this context";
      SCYPER_ASSIGN_OR_RETURN(BoundPtr value, binder_.bind(*assign.value, nullptr));
      SCYPER_ASSIGN_OR_RETURN(
          step->expr,
          binder_.replace_part(make_variable(step->variable, type, true, assign.location), subscript->indexes[0],
                               std::move(value), name.back(), nullptr, assign.location));
      out->push_back(std::move(step));
      return absl::OkStatus();
    }
    step->kind = StepKind::kAssignElement;
    SCYPER_ASSIGN_OR_RETURN(step->expr2, expression(*subscript->indexes[0].upper, make_type(TypeId::kInt4)));
    type = element_of(type);
  }
  SCYPER_ASSIGN_OR_RETURN(step->expr, expression(*assign.value, type));
  uint32_t variable = step->variable;
  out->push_back(std::move(step));
  return note_field(name, variable, assign, out);
}

Status PlBinder::bind_if(const plpgsql::If& statement, StepList* out) {
  auto step = new_step(StepKind::kIf, statement);
  Shapes before = save_shapes();
  bool is_cut = false;  // behind a condition that fails nothing is reached
  for (const auto& branch : statement.branches) {
    if (!step->branches.empty()) before_ = nullptr;  // only where the conditions before it do not hold
    auto test = condition(*branch.condition);
    if (!test.ok()) {
      is_cut = !step->branches.empty() && fails_when_run(test.status(), statement, &step->body);
      if (!is_cut) return test.status();
      break;
    }
    StepList body;
    SCYPER_RETURN_IF_ERROR(bind_statements(branch.body, &body));
    merge_shapes(before);
    step->branches.emplace_back(*std::move(test), std::move(body));
  }
  if (!is_cut) SCYPER_RETURN_IF_ERROR(bind_statements(statement.otherwise, &step->body));
  merge_shapes(before);
  out->push_back(std::move(step));
  return absl::OkStatus();
}

// WHEN a, b: one of them. value: the variable that holds what is compared; null: the items are conditions.
StatusOr<BoundPtr> PlBinder::case_test(const plpgsql::CaseBranch& branch, const BoundExpr* value) {
  BoundPtr test = make_expr(BoundKind::kOr, make_type(TypeId::kBool), true, branch.location);
  for (const auto& item : branch.conditions) {
    BoundPtr one;
    if (value != nullptr) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr other, binder_.bind(*item, nullptr));
      SCYPER_ASSIGN_OR_RETURN(one, binder_.make_operator("=", clone(*value), std::move(other), branch.location));
    } else {
      SCYPER_ASSIGN_OR_RETURN(one, condition(*item));
    }
    test->args.push_back(std::move(one));
  }
  return test->args.size() == 1 ? std::move(test->args[0]) : std::move(test);
}

Status PlBinder::bind_case(const plpgsql::Case& statement, StepList* out) {
  auto step = new_step(StepKind::kIf, statement);
  BoundPtr value;
  if (statement.arg != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(value, binder_.bind(*statement.arg, nullptr));
    if (value->kind != BoundKind::kVariable && value->kind != BoundKind::kRow) {  // computed once
      auto assign = new_step(StepKind::kAssign, statement);
      if (value->type.id == TypeId::kUnknown) {
        SCYPER_ASSIGN_OR_RETURN(value, binder_.coerce(std::move(value), make_type(TypeId::kText), Coercion::kImplicit));
      }
      assign->variable = binder_.new_variable("", value->type);
      assign->expr = std::exchange(value, make_variable(assign->variable, value->type, true, statement.location));
      out->push_back(std::move(assign));
    }
  }
  before_ = nullptr;
  Shapes before = save_shapes();
  bool is_cut = false;  // as in bind_if()
  for (const auto& branch : statement.branches) {
    auto test = case_test(branch, value.get());
    if (!test.ok()) {
      is_cut = !step->branches.empty() && fails_when_run(test.status(), statement, &step->body);
      if (!is_cut) return test.status();
      break;
    }
    StepList body;
    SCYPER_RETURN_IF_ERROR(bind_statements(branch.body, &body));
    merge_shapes(before);
    step->branches.emplace_back(*std::move(test), std::move(body));
  }
  if (statement.has_else && !is_cut) {
    SCYPER_RETURN_IF_ERROR(bind_statements(statement.otherwise, &step->body));
    merge_shapes(before);
  } else if (!is_cut) {
    auto raise = new_step(StepKind::kRaise, statement);
    raise->level = "exception";
    raise->format = "case not found";
    raise->options.emplace_back("errcode", make_text_constant(make_type(TypeId::kText), "20000", statement.location));
    raise->options.emplace_back("hint", make_text_constant(make_type(TypeId::kText),
                                                           "CASE statement is missing ELSE part.", statement.location));
    step->body.push_back(std::move(raise));
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_loop(const plpgsql::Statement& statement, const std::string& label, const ast::Expr* test,
                           const plpgsql::Statements& body, StepList* out) {
  auto step = new_step(test == nullptr ? StepKind::kLoop : StepKind::kWhile, statement);
  if (test != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(step->expr, condition(*test));
  }
  step->label = open_label(label, true);
  Shapes before = save_shapes();
  SCYPER_RETURN_IF_ERROR(bind_statements(body, &step->body));
  merge_shapes(before);
  labels_.pop_back();
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_for_integer(const plpgsql::ForInteger& loop, StepList* out) {
  auto step = new_step(StepKind::kForInteger, loop);
  SqlType integer = make_type(TypeId::kInt4);
  SCYPER_ASSIGN_OR_RETURN(step->expr, expression(*loop.from, integer));
  SCYPER_ASSIGN_OR_RETURN(step->expr2, expression(*loop.to, integer));
  if (loop.step != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(step->expr3, expression(*loop.step, integer));
  }
  step->reverse = loop.reverse;
  VariableScope scope;
  scope.parent = scope_;
  scope.label = loop.label;
  step->variable = binder_.new_variable(loop.variable, integer);
  // the body may assign the variable, also NULL, so it keeps its flag
  scope.variables[loop.variable] = step->variable;
  scope_ = &scope;
  binder_.variables_ = &scope;
  step->label = open_label(loop.label, true);
  Shapes before = save_shapes();
  Status status = bind_statements(loop.body, &step->body);
  merge_shapes(before);
  labels_.pop_back();
  scope_ = const_cast<VariableScope*>(scope.parent);
  binder_.variables_ = scope_;
  SCYPER_RETURN_IF_ERROR(status);
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_for_query(const plpgsql::ForQuery& loop, StepList* out) {
  auto step = new_step(StepKind::kForQuery, loop);
  if (loop.query->kind != ast::StatementKind::kSelect) {  // rows of INSERT, UPDATE, DELETE ... RETURNING
    step->kind = StepKind::kForRows;
    SCYPER_ASSIGN_OR_RETURN(step->dml, binder_.bind_dml(*loop.query));
    if (step->dml->returning.empty()) return binder_.error("42601", "query does not return rows", loop.location);
    SCYPER_RETURN_IF_ERROR(bind_targets(loop.targets, step->dml->returning, &step->into));
    return bind_loop_body(loop.label, loop.body, std::move(step), out);
  }
  SCYPER_ASSIGN_OR_RETURN(step->query, binder_.bind_select(ast::node_as<ast::SelectStatement>(*loop.query), nullptr));
  SCYPER_RETURN_IF_ERROR(bind_targets(loop.targets, step->query->outputs, &step->into));
  step->label = open_label(loop.label, true);
  Shapes before = save_shapes();
  SCYPER_RETURN_IF_ERROR(bind_statements(loop.body, &step->body));
  merge_shapes(before);
  labels_.pop_back();
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_for_each(const plpgsql::ForEach& loop, StepList* out) {
  auto step = new_step(StepKind::kForEach, loop);
  if (loop.slice != 0 || loop.targets.size() != 1)
    return binder_.error("0A000", "FOREACH with SLICE is not supported", loop.location);
  SCYPER_ASSIGN_OR_RETURN(step->expr, binder_.bind(*loop.array, nullptr));
  if (step->expr->type.id != TypeId::kArray)
    return binder_.error("42804",
                         absl::StrCat("FOREACH expression must yield an array, not type ", type_name(step->expr->type)),
                         loop.location);
  SCYPER_ASSIGN_OR_RETURN(step->variable, target_variable(loop.targets[0].name, loop.targets[0].location));
  step->label = open_label(loop.label, true);
  Shapes before = save_shapes();
  SCYPER_RETURN_IF_ERROR(bind_statements(loop.body, &step->body));
  merge_shapes(before);
  labels_.pop_back();
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_exit(const plpgsql::Exit& statement, StepList* out) {
  auto step = new_step(StepKind::kExit, statement);
  step->is_continue = statement.is_continue;
  const Label* found = nullptr;
  for (auto it = labels_.rbegin(); it != labels_.rend() && found == nullptr; ++it)
    if (statement.label.empty() ? it->loop : it->name == statement.label && (it->loop || !statement.is_continue))
      found = &*it;
  if (found == nullptr)
    return binder_.error(
        "42601",
        statement.label.empty()
            ? absl::StrCat(statement.is_continue ? "CONTINUE" : "EXIT", " cannot be used outside a loop",
                           statement.is_continue ? "" : ", unless it has a label")
            : absl::StrCat("there is no label \"", statement.label,
                           "\" attached to any block or loop enclosing this statement"),
        statement.location);
  step->label = found->id;
  if (statement.when != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(step->expr, condition(*statement.when));
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

namespace {
const char* level_name(plpgsql::RaiseLevel level) {
  switch (level) {
    case plpgsql::RaiseLevel::kDebug:
      return "debug";
    case plpgsql::RaiseLevel::kLog:
      return "log";
    case plpgsql::RaiseLevel::kInfo:
      return "info";
    case plpgsql::RaiseLevel::kNotice:
      return "notice";
    case plpgsql::RaiseLevel::kWarning:
      return "warning";
    case plpgsql::RaiseLevel::kException:
      return "exception";
  }
  return "exception";
}
const char* option_name(plpgsql::RaiseOptionKind kind) {
  switch (kind) {
    case plpgsql::RaiseOptionKind::kErrcode:
      return "errcode";
    case plpgsql::RaiseOptionKind::kMessage:
      return "message";
    case plpgsql::RaiseOptionKind::kDetail:
      return "detail";
    case plpgsql::RaiseOptionKind::kHint:
      return "hint";
    case plpgsql::RaiseOptionKind::kColumn:
      return "column";
    case plpgsql::RaiseOptionKind::kConstraint:
      return "constraint";
    case plpgsql::RaiseOptionKind::kDatatype:
      return "datatype";
    case plpgsql::RaiseOptionKind::kTable:
      return "table";
    case plpgsql::RaiseOptionKind::kSchema:
      return "schema";
  }
  return "message";
}
}  // namespace

// ERRCODE may be the name of a condition.
Status PlBinder::name_to_state(int32_t location, BoundPtr* value) {
  const std::string& name = (*value)->text;
  bool is_state =
      name.size() == 5 && name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
  if (is_state) return absl::OkStatus();
  std::vector<std::string_view> states = sqlstates_of_condition(name);
  if (states.empty())
    return binder_.error("42704", absl::StrCat("unrecognized exception condition \"", name, "\""), location);
  *value = make_text_constant(make_type(TypeId::kText), std::string(states[0]), location);
  return absl::OkStatus();
}

Status PlBinder::bind_raise(const plpgsql::Raise& raise, StepList* out) {
  auto step = new_step(StepKind::kRaise, raise);
  SqlType text = make_type(TypeId::kText);
  if (raise.reraise) {
    if (handler_depth_ == 0)
      return binder_.error("0Z002", "RAISE without parameters cannot be used outside an exception handler",
                           raise.location);
    for (size_t i = 0; i < kRaiseOptionCount; i++) {
      SCYPER_ASSIGN_OR_RETURN(uint32_t variable, target_variable({kErrorFields[i]}, raise.location));
      step->options.emplace_back(kRaiseOptions[i], make_variable(variable, text, true, raise.location));
    }
    step->level = "exception";
    out->push_back(std::move(step));
    return absl::OkStatus();
  }
  step->level = level_name(raise.level);
  step->format = raise.format;
  if (!raise.has_format) step->format = raise.condition.empty() ? raise.sqlstate : raise.condition;
  for (const auto& arg : raise.args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, value_of(*arg, nullptr));
    if (value->type.id == TypeId::kBool || value->type.id == TypeId::kChar) {  // casts show them otherwise
      std::vector<BoundPtr> one;
      one.push_back(std::move(value));
      SCYPER_ASSIGN_OR_RETURN(value, binder_.make_call(" output", std::move(one), raise.location));
    }
    SCYPER_ASSIGN_OR_RETURN(value, binder_.coerce(std::move(value), text, Coercion::kExplicit));
    step->args.push_back(std::move(value));
  }
  if (!raise.sqlstate.empty())
    step->options.emplace_back("errcode", make_text_constant(text, raise.sqlstate, raise.location));
  for (const auto& option : raise.options) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, binder_.bind(*option.value, nullptr));
    if (option.kind == plpgsql::RaiseOptionKind::kErrcode && value->kind == BoundKind::kConst && !value->value.null)
      SCYPER_RETURN_IF_ERROR(name_to_state(raise.location, &value));
    SCYPER_ASSIGN_OR_RETURN(value, binder_.coerce(std::move(value), text, Coercion::kExplicit));
    step->options.emplace_back(option_name(option.kind), std::move(value));
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_assert(const plpgsql::Assert& statement, StepList* out) {
  auto step = new_step(StepKind::kIf, statement);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr test, condition(*statement.condition));
  step->branches.emplace_back(std::move(test), StepList{});
  auto raise = new_step(StepKind::kRaise, statement);
  SqlType text = make_type(TypeId::kText);
  raise->level = "exception";
  raise->format = "assertion failed";
  raise->options.emplace_back("errcode", make_text_constant(text, "P0004", statement.location));
  if (statement.message != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr message, binder_.bind(*statement.message, nullptr));
    SCYPER_ASSIGN_OR_RETURN(message, binder_.coerce(std::move(message), text, Coercion::kExplicit));
    raise->options.emplace_back("message", std::move(message));
  }
  step->body.push_back(std::move(raise));
  out->push_back(std::move(step));
  return absl::OkStatus();
}

// SET name = value: set_config(). Of a transaction's modes there is nothing to choose.
Status PlBinder::bind_set(const ast::SetStatement& set, const plpgsql::Sql& statement, StepList* out) {
  if (set.action == ast::SetAction::kSetTransaction || set.action == ast::SetAction::kFromCurrent ||
      set.action == ast::SetAction::kResetAll)
    return absl::OkStatus();
  const bool has_value = set.action == ast::SetAction::kSet;
  const std::string value = has_value ? quote_literal(setting_value(set)) : "NULL";
  SCYPER_ASSIGN_OR_RETURN(auto call, parse_expression(absl::StrCat("set_config(", quote_literal(set.name), ", ", value,
                                                                   ", ", set.local ? "true" : "false", ")")));
  const SqlType text = make_type(TypeId::kText);
  auto step = new_step(StepKind::kAssign, statement);
  step->variable = binder_.new_variable(" setting", text);
  step->tells = Tells::kNoRows;
  SCYPER_ASSIGN_OR_RETURN(step->expr, expression(*call, text));
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_sql(const plpgsql::Sql& statement, StepList* out) {
  if (is_definition(statement.statement->kind)) return bind_definition(statement, out);
  if (statement.statement->kind == ast::StatementKind::kSelect) {
    if (statement.into.targets.empty())
      return with_hint(binder_.error("42601", "query has no destination for result data", statement.location),
                       "If you want to discard the results of a SELECT, use PERFORM instead.");
    auto step = new_step(StepKind::kQuery, statement);
    SCYPER_ASSIGN_OR_RETURN(step->query,
                            binder_.bind_select(ast::node_as<ast::SelectStatement>(*statement.statement), nullptr));
    SCYPER_RETURN_IF_ERROR(bind_targets(statement.into.targets, step->query->outputs, &step->into));
    step->into.strict = statement.into.strict;
    out->push_back(std::move(step));
    return absl::OkStatus();
  }
  if (const auto* set = ast::node_if<ast::SetStatement>(statement.statement.get()); set != nullptr)
    return bind_set(*set, statement, out);
  if (const auto* truncate = ast::node_if<ast::TruncateStatement>(statement.statement.get()); truncate != nullptr)
    return bind_truncate(*truncate, statement, out);
  auto step = new_step(StepKind::kDml, statement);
  SCYPER_ASSIGN_OR_RETURN(step->dml, binder_.bind_dml(*statement.statement));
  if (!statement.into.targets.empty()) {
    if (step->dml->returning.empty())
      return binder_.error("42601", "INTO used with a command that cannot return data", statement.into.location);
    SCYPER_RETURN_IF_ERROR(bind_targets(statement.into.targets, step->dml->returning, &step->into));
    step->into.strict = statement.into.strict;
  } else if (!step->dml->returning.empty() && !routine_.is_sql) {
    return binder_.error("42601", "query has no destination for result data", statement.location);
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_perform(const plpgsql::Perform& statement, StepList* out) {
  auto step = new_step(StepKind::kPerform, statement);
  SCYPER_ASSIGN_OR_RETURN(step->query,
                          binder_.bind_select(ast::node_as<ast::SelectStatement>(*statement.query), nullptr));
  out->push_back(std::move(step));
  return absl::OkStatus();
}

namespace {
// The variable of a handler that has the item; null: ROW_COUNT and PG_CONTEXT, which are of no error.
const char* error_field_of(plpgsql::DiagnosticsItem item) {
  using Item = plpgsql::DiagnosticsItem;
  static constexpr std::pair<Item, const char*> kFields[] = {
      {Item::kReturnedSqlstate, "sqlstate"}, {Item::kMessageText, "sqlerrm"}, {Item::kErrorDetail, " detail"},
      {Item::kErrorHint, " hint"},           {Item::kColumnName, " column"},  {Item::kConstraintName, " constraint"},
      {Item::kDatatypeName, " datatype"},    {Item::kTableName, " table"},    {Item::kSchemaName, " schema"},
      {Item::kErrorContext, " context"}};
  for (const auto& [known, name] : kFields)
    if (known == item) return name;
  return nullptr;
}
}  // namespace

Status PlBinder::bind_diagnostics(const plpgsql::GetDiagnostics& statement, StepList* out) {
  for (const auto& item : statement.items) {
    auto step = new_step(StepKind::kAssign, statement);
    SCYPER_ASSIGN_OR_RETURN(step->variable, target_variable(item.target.name, item.target.location));
    const char* source = error_field_of(item.item);
    if (item.item == plpgsql::DiagnosticsItem::kContext)
      return binder_.error("0A000", "diagnostics item PG_CONTEXT is not supported", statement.location);
    SqlType type = binder_.program_->variables[step->variable].type;
    if (source == nullptr) {
      // the generator supplies the count as bigint in place of kRowCount
      binder_.program_->asks_row_count = true;
      BoundPtr count = make_expr(BoundKind::kRowCount, make_type(TypeId::kInt8), false, statement.location);
      SCYPER_ASSIGN_OR_RETURN(step->expr, binder_.coerce_assign(std::move(count), type));
    } else {
      if (handler_depth_ == 0)
        return binder_.error("0Z002", "GET STACKED DIAGNOSTICS cannot be used outside an exception handler",
                             statement.location);
      SCYPER_ASSIGN_OR_RETURN(uint32_t variable, target_variable({source}, statement.location));
      SCYPER_ASSIGN_OR_RETURN(step->expr,
                              binder_.coerce_assign(make_variable(variable, make_type(TypeId::kText), true, -1), type));
    }
    out->push_back(std::move(step));
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
