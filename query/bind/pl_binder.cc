#include "bind/pl_binder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/make.h"
#include "parse/conditions.h"
#include "parse/type_resolver.h"

namespace scyper::query {

using plpgsql::StatementKind;

namespace {
template <class T>
const T& as(const plpgsql::Statement& statement) {
  return ast::node_as<T>(statement);
}
}  // namespace

StatusOr<std::unique_ptr<BoundProgram>> Binder::bind_routine(const Routine& routine, const plpgsql::Body& body) {
  program_->name = routine.name;
  program_->is_routine = true;
  program_->return_type = routine.procedure ? make_type(TypeId::kVoid) : routine.return_type;
  PlBinder pl(this, routine);
  SCYPER_RETURN_IF_ERROR(pl.bind(body));
  return std::move(program_);
}

Status PlBinder::bind(const plpgsql::Body& body) {
  BoundProgram& program = *binder_.program_;
  VariableScope outer;
  outer.label = routine_.name;
  scope_ = &outer;
  binder_.variables_ = scope_;
  // inputs first: they are the arguments
  std::vector<uint32_t> numbers(routine_.parameters.size());
  for (size_t pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < routine_.parameters.size(); i++) {
      const RoutineParameter& p = routine_.parameters[i];
      if ((p.mode == ParameterMode::kOut) != (pass == 1)) continue;
      numbers[i] = binder_.new_variable(p.name, p.type);
      if (!p.name.empty()) outer.variables[p.name] = numbers[i];
      outer.variables[absl::StrCat("$", i + 1)] = numbers[i];
    }
    if (pass == 0) program.parameters = static_cast<uint32_t>(program.variables.size());
  }
  for (size_t i = 0; i < routine_.parameters.size(); i++) {
    if (routine_.parameters[i].mode == ParameterMode::kIn) continue;
    program.result_variables.push_back(numbers[i]);
    program.columns.push_back({routine_.parameters[i].name, routine_.parameters[i].type, true, false});
  }
  if (!routine_.procedure && program.result_variables.empty())
    program.columns.push_back({routine_.name, routine_.return_type, true, false});
  found_ = binder_.new_variable("found", make_type(TypeId::kBool));
  outer.variables["found"] = found_;
  program.found_variable = found_;
  SCYPER_RETURN_IF_ERROR(bind_block(*body.block, &program.steps));
  scope_ = nullptr;
  binder_.variables_ = nullptr;
  return absl::OkStatus();
}

std::unique_ptr<Step> PlBinder::new_step(StepKind kind, const plpgsql::Statement& statement) const {
  auto step = std::make_unique<Step>();
  step->kind = kind;
  step->location = statement.location;
  step->line = statement.line;
  return step;
}

uint32_t PlBinder::open_label(const std::string& name, bool loop) {
  uint32_t id = ++binder_.program_->label_count;
  labels_.push_back({name, id, loop});
  return id;
}

Status PlBinder::bind_statements(const plpgsql::Statements& statements, StepList* out) {
  for (const auto& statement : statements) SCYPER_RETURN_IF_ERROR(bind_statement(*statement, out));
  return absl::OkStatus();
}

Status PlBinder::bind_statement(const plpgsql::Statement& statement, StepList* out) {
  switch (statement.kind) {
    case StatementKind::kBlock:
      return bind_block(as<plpgsql::Block>(statement), out);
    case StatementKind::kAssign:
      return bind_assign(as<plpgsql::Assign>(statement), out);
    case StatementKind::kIf:
      return bind_if(as<plpgsql::If>(statement), out);
    case StatementKind::kCase:
      return bind_case(as<plpgsql::Case>(statement), out);
    case StatementKind::kLoop: {
      const auto& loop = as<plpgsql::Loop>(statement);
      return bind_loop(statement, loop.label, nullptr, loop.body, out);
    }
    case StatementKind::kWhile: {
      const auto& loop = as<plpgsql::While>(statement);
      return bind_loop(statement, loop.label, loop.condition.get(), loop.body, out);
    }
    case StatementKind::kForInteger:
      return bind_for_integer(as<plpgsql::ForInteger>(statement), out);
    case StatementKind::kForQuery:
      return bind_for_query(as<plpgsql::ForQuery>(statement), out);
    case StatementKind::kForEach:
      return bind_for_each(as<plpgsql::ForEach>(statement), out);
    case StatementKind::kExit:
      return bind_exit(as<plpgsql::Exit>(statement), out);
    case StatementKind::kReturn:
      return bind_return(as<plpgsql::Return>(statement), out);
    case StatementKind::kRaise:
      return bind_raise(as<plpgsql::Raise>(statement), out);
    case StatementKind::kAssert:
      return bind_assert(as<plpgsql::Assert>(statement), out);
    case StatementKind::kPerform:
      return bind_perform(as<plpgsql::Perform>(statement), out);
    case StatementKind::kSql:
      return bind_sql(as<plpgsql::Sql>(statement), out);
    case StatementKind::kGetDiagnostics:
      return bind_diagnostics(as<plpgsql::GetDiagnostics>(statement), out);
    case StatementKind::kNull:
      return absl::OkStatus();
    case StatementKind::kCall: {
      SCYPER_ASSIGN_OR_RETURN(auto step, binder_.bind_call_step(*as<plpgsql::Call>(statement).call->call));
      step->line = statement.line;
      out->push_back(std::move(step));
      return absl::OkStatus();
    }
    case StatementKind::kTransaction:
      return binder_.error("0A000", "COMMIT and ROLLBACK in procedures are not supported", statement.location);
    case StatementKind::kExecute:
    case StatementKind::kForExecute:
      return binder_.error("0A000", "dynamic SQL (EXECUTE) is not supported", statement.location);
    case StatementKind::kReturnNext:
    case StatementKind::kReturnQuery:
      return binder_.error("0A000", "set-returning PL/pgSQL functions are not supported", statement.location);
    default:
      return binder_.error("0A000", "cursors are not supported", statement.location);
  }
}

// --- names, types, shapes ---

PlBinder::Record* PlBinder::find_record(const ast::Name& name) const {
  if (name.size() != 1) return nullptr;
  for (const VariableScope* s = scope_; s != nullptr; s = s->parent) {
    auto it = s->records.find(name[0]);
    if (it != s->records.end()) return it->second;
    if (s->variables.count(name[0]) != 0) return nullptr;
  }
  return nullptr;
}

StatusOr<uint32_t> PlBinder::target_variable(const ast::Name& name, int32_t location) {
  uint32_t variable = 0;
  if (!binder_.find_variable(name, &variable)) {
    if (name.size() == 2)
      if (const Record* record = find_record({name[0]}); record != nullptr)
        return record->assigned
                   ? binder_.error("42703", absl::StrCat("record \"", name[0], "\" has no field \"", name[1], "\""),
                                   location)
                   : with_detail(
                         binder_.error("55000", absl::StrCat("record \"", name[0], "\" is not assigned yet"), location),
                         "The tuple structure of a not-yet-assigned record is indeterminate.");
    std::string text;
    for (const auto& part : name) absl::StrAppend(&text, text.empty() ? "" : ".", part);
    return binder_.error("42601", absl::StrCat("\"", text, "\" is not a known variable"), location);
  }
  if (binder_.program_->variables[variable].constant)
    return binder_.error("22005", absl::StrCat("variable \"", name.back(), "\" is declared CONSTANT"), location);
  return variable;
}

StatusOr<SqlType> PlBinder::declared_type(const ast::TypeName& type) {
  if (!type.percent_type) return resolve_type(type, binder_.source_);
  uint32_t variable = 0;
  if (binder_.find_variable(type.name, &variable)) return binder_.program_->variables[variable].type;
  if (type.name.size() >= 2) {
    auto table = binder_.catalog_.find_table(type.name[type.name.size() - 2]);
    if (table == nullptr)
      return binder_.error("42P01", absl::StrCat("relation \"", type.name[type.name.size() - 2], "\" does not exist"),
                           type.location);
    for (const auto& column : table->schema().columns)
      if (column.name == type.name.back()) return column.type;
    return binder_.error("42703", absl::StrCat("column \"", type.name.back(), "\" does not exist"), type.location);
  }
  return binder_.error("42P01", absl::StrCat("\"", type.name.back(), "\" is not a known variable"), type.location);
}

Status PlBinder::shape_record(Record* record, const std::vector<OutputColumn>& columns) {
  std::vector<std::string> names;
  std::vector<SqlType> types;
  for (const auto& column : columns) {
    if (column.hidden) continue;
    names.push_back(column.name);
    types.push_back(column.expr->type);
  }
  bool fits = record->assigned && record->names == names;
  for (size_t i = 0; fits && i < names.size(); i++)
    fits = binder_.program_->variables[record->variables[i]].type == types[i];
  if (fits) return absl::OkStatus();
  record->assigned = true;
  record->names = names;
  record->variables.clear();
  for (size_t i = 0; i < names.size(); i++) record->variables.push_back(binder_.new_variable(names[i], types[i]));
  return absl::OkStatus();
}

PlBinder::Shapes PlBinder::save_shapes() const {
  Shapes shapes;
  for (const auto& record : records_) shapes[record.get()] = *record;
  return shapes;
}

// After a branch that may not have run: a record that had one shape and got another has none that is certain.
void PlBinder::merge_shapes(const Shapes& before) {
  for (const auto& [record, old] : before)
    if (old.assigned && old.variables != record->variables) *record = Record{};
}

StatusOr<BoundPtr> PlBinder::expression(const ast::Expr& expr, const SqlType& type) {
  binder_.aggregate_clause_ = "this context";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, binder_.bind(expr, nullptr));
  return binder_.coerce_assign(std::move(bound), type);
}

// PL/pgSQL assigns through text where no assignment cast exists; lengths are enforced as by an assignment.
StatusOr<BoundPtr> Binder::coerce_assign(BoundPtr expr, const SqlType& type) {
  if (expr->type == type) return expr;
  bool string_target = is_string(type.id);
  return coerce(std::move(expr), type, string_target ? Coercion::kAssignment : Coercion::kExplicit);
}

StatusOr<BoundPtr> PlBinder::condition(const ast::Expr& expr) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, binder_.bind(expr, nullptr));
  if (bound->type.id == TypeId::kBool) return bound;
  return binder_.coerce(std::move(bound), make_type(TypeId::kBool), Coercion::kExplicit);
}

Status PlBinder::bind_targets(const std::vector<plpgsql::Target>& targets, const std::vector<OutputColumn>& columns,
                              IntoTargets* into) {
  into->present = true;
  if (targets.size() == 1) {
    if (Record* record = find_record(targets[0].name); record != nullptr) {
      SCYPER_RETURN_IF_ERROR(shape_record(record, columns));
      into->variables = record->variables;
      return absl::OkStatus();
    }
  }
  for (const auto& target : targets) {
    SCYPER_ASSIGN_OR_RETURN(uint32_t variable, target_variable(target.name, target.location));
    into->variables.push_back(variable);
  }
  return absl::OkStatus();
}

// --- blocks ---

Status PlBinder::bind_block(const plpgsql::Block& block, StepList* out) {
  VariableScope scope;
  scope.parent = scope_;
  scope.label = block.label;
  auto step = new_step(StepKind::kBlock, block);
  step->label = open_label(block.label, false);
  scope_ = &scope;
  binder_.variables_ = &scope;
  Status status = [&]() -> Status {
    for (const auto& declaration : block.declarations)
      SCYPER_RETURN_IF_ERROR(bind_declaration(declaration, &scope, &step->declarations));
    Shapes before = save_shapes();
    SCYPER_RETURN_IF_ERROR(bind_statements(block.body, &step->body));
    if (block.handlers.empty()) return absl::OkStatus();
    merge_shapes(before);
    return bind_handlers(block, step.get());
  }();
  scope_ = const_cast<VariableScope*>(scope.parent);
  binder_.variables_ = scope_;
  labels_.pop_back();
  SCYPER_RETURN_IF_ERROR(status);
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_declaration(const plpgsql::Declaration& d, VariableScope* scope, StepList* out) {
  if (scope->variables.count(d.name) + scope->records.count(d.name) != 0)
    return binder_.error("42601", absl::StrCat("duplicate declaration at or near \"", d.name, "\""), d.location);
  if (d.cursor != nullptr) return binder_.error("0A000", "cursors are not supported", d.location);
  if (!d.alias_for.empty()) {
    SCYPER_ASSIGN_OR_RETURN(uint32_t variable, target_variable(d.alias_for, d.location));
    scope->variables[d.name] = variable;
    return absl::OkStatus();
  }
  std::shared_ptr<storage::Table> row_table;
  if (d.type.percent_rowtype || d.type.name.size() == 1) row_table = binder_.catalog_.find_table(d.type.name.back());
  bool is_record = d.type.name.back() == "record" && !d.type.percent_type;
  if (is_record || row_table != nullptr) {
    if (d.initial != nullptr) return binder_.error("0A000", "default values of records are not supported", d.location);
    records_.push_back(std::make_unique<Record>());
    Record* record = records_.back().get();
    if (row_table != nullptr) {
      const auto& schema = row_table->schema();
      record->assigned = true;
      for (size_t i = 0; i + (schema.has_row_id ? 1 : 0) < schema.columns.size(); i++) {
        record->names.push_back(schema.columns[i].name);
        record->variables.push_back(binder_.new_variable(schema.columns[i].name, schema.columns[i].type));
      }
    }
    scope->records[d.name] = record;
    return absl::OkStatus();
  }
  if (d.type.percent_rowtype)
    return binder_.error("42P01", absl::StrCat("relation \"", d.type.name.back(), "\" does not exist"), d.location);
  SCYPER_ASSIGN_OR_RETURN(SqlType type, declared_type(d.type));
  BoundPtr initial;
  if (d.initial != nullptr) {  // sees the variables before it, not itself
    SCYPER_ASSIGN_OR_RETURN(initial, expression(*d.initial, type));
  } else {
    if (d.not_null)
      return binder_.error(
          "22004", absl::StrCat("variable \"", d.name, "\" must have a default value, since it's declared NOT NULL"),
          d.location);
    initial = make_null(type, d.location);
  }
  uint32_t variable = binder_.new_variable(d.name, type);
  binder_.program_->variables[variable].not_null = d.not_null;
  scope->variables[d.name] = variable;
  auto step = std::make_unique<Step>();
  step->kind = StepKind::kAssign;
  step->location = d.location;
  step->variable = variable;
  step->expr = std::move(initial);
  out->push_back(std::move(step));
  binder_.program_->variables[variable].constant = d.constant;
  return absl::OkStatus();
}

Status PlBinder::bind_handlers(const plpgsql::Block& block, Step* step) {
  step->has_handlers = true;
  for (const auto& handler : block.handlers) {
    HandlerClause clause;
    for (const auto& condition : handler.conditions) {
      if (condition.others) clause.sqlstates.push_back("OTHERS");
      for (const auto& state : condition.sqlstates) clause.sqlstates.push_back(state);
    }
    VariableScope scope;
    scope.parent = scope_;
    clause.sqlstate_variable = binder_.new_variable("sqlstate", make_type(TypeId::kText));
    clause.message_variable = binder_.new_variable("sqlerrm", make_type(TypeId::kText));
    clause.detail_variable = binder_.new_variable("detail", make_type(TypeId::kText));
    clause.hint_variable = binder_.new_variable("hint", make_type(TypeId::kText));
    scope.variables["sqlstate"] = clause.sqlstate_variable;
    scope.variables["sqlerrm"] = clause.message_variable;
    scope.variables[" detail"] =
        clause.detail_variable;  // for GET STACKED DIAGNOSTICS; no identifier has a space first
    scope.variables[" hint"] = clause.hint_variable;
    scope_ = &scope;
    binder_.variables_ = &scope;
    handler_depth_++;
    Shapes before = save_shapes();
    Status status = bind_statements(handler.body, &clause.body);
    merge_shapes(before);
    handler_depth_--;
    scope_ = const_cast<VariableScope*>(scope.parent);
    binder_.variables_ = scope_;
    SCYPER_RETURN_IF_ERROR(status);
    step->handlers.push_back(std::move(clause));
  }
  return absl::OkStatus();
}

// --- statements ---

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
  if (find_record(name) != nullptr)
    return binder_.error("0A000", "assignment to a whole record is not supported", assign.location);
  SCYPER_ASSIGN_OR_RETURN(step->variable, target_variable(name, assign.location));
  SqlType type = binder_.program_->variables[step->variable].type;
  if (subscript != nullptr) {
    if (subscript->indexes.size() != 1 || subscript->indexes[0].slice)
      return binder_.error("0A000", "array slices and multidimensional arrays are not supported", assign.location);
    if (type.id != TypeId::kArray)
      return binder_.error(
          "42804", absl::StrCat("cannot subscript type ", type_name(type), " because it does not support subscripting"),
          assign.location);
    step->kind = StepKind::kAssignElement;
    SCYPER_ASSIGN_OR_RETURN(step->expr2, expression(*subscript->indexes[0].upper, make_type(TypeId::kInt4)));
    type = element_of(type);
  }
  SCYPER_ASSIGN_OR_RETURN(step->expr, expression(*assign.value, type));
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_if(const plpgsql::If& statement, StepList* out) {
  auto step = new_step(StepKind::kIf, statement);
  Shapes before = save_shapes();
  for (const auto& branch : statement.branches) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr test, condition(*branch.condition));
    StepList body;
    SCYPER_RETURN_IF_ERROR(bind_statements(branch.body, &body));
    merge_shapes(before);
    step->branches.emplace_back(std::move(test), std::move(body));
  }
  SCYPER_RETURN_IF_ERROR(bind_statements(statement.otherwise, &step->body));
  merge_shapes(before);
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_case(const plpgsql::Case& statement, StepList* out) {
  auto step = new_step(StepKind::kIf, statement);
  Shapes before = save_shapes();
  for (const auto& branch : statement.branches) {
    BoundPtr test = make_expr(BoundKind::kOr, make_type(TypeId::kBool), true, branch.location);
    for (const auto& item : branch.conditions) {
      BoundPtr one;
      if (statement.arg != nullptr) {
        SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, binder_.bind(*statement.arg, nullptr));
        SCYPER_ASSIGN_OR_RETURN(BoundPtr value, binder_.bind(*item, nullptr));
        SCYPER_ASSIGN_OR_RETURN(one, binder_.make_operator("=", std::move(arg), std::move(value), branch.location));
      } else {
        SCYPER_ASSIGN_OR_RETURN(one, condition(*item));
      }
      test->args.push_back(std::move(one));
    }
    if (test->args.size() == 1) test = std::move(test->args[0]);
    StepList body;
    SCYPER_RETURN_IF_ERROR(bind_statements(branch.body, &body));
    merge_shapes(before);
    step->branches.emplace_back(std::move(test), std::move(body));
  }
  if (statement.has_else) {
    SCYPER_RETURN_IF_ERROR(bind_statements(statement.otherwise, &step->body));
    merge_shapes(before);
  } else {
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
  if (loop.query->kind != ast::StatementKind::kSelect)
    return binder_.error("0A000", "FOR over this statement is not supported", loop.location);
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

Status PlBinder::bind_return(const plpgsql::Return& statement, StepList* out) {
  auto step = new_step(StepKind::kReturn, statement);
  bool wants =
      !routine_.procedure && binder_.program_->result_variables.empty() && routine_.return_type.id != TypeId::kVoid;
  if (statement.value != nullptr && !wants)
    return binder_.error("42804",
                         routine_.procedure ? "RETURN cannot have a parameter in a procedure"
                                            : "RETURN cannot have a parameter in function with OUT parameters",
                         statement.location);
  if (statement.value == nullptr && wants)
    return binder_.error("42601", "missing expression at or near \";\"", statement.location);
  if (wants) {
    SCYPER_ASSIGN_OR_RETURN(step->expr, expression(*statement.value, routine_.return_type));
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
    default:
      return "other";
  }
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
    for (const char* name : {"sqlstate", "sqlerrm", " detail", " hint"}) {
      SCYPER_ASSIGN_OR_RETURN(uint32_t variable, target_variable({name}, raise.location));
      step->options.emplace_back(std::string_view(name) == "sqlstate"  ? "errcode"
                                 : std::string_view(name) == "sqlerrm" ? "message"
                                                                       : name + 1,
                                 make_variable(variable, text, true, raise.location));
    }
    step->level = "exception";
    out->push_back(std::move(step));
    return absl::OkStatus();
  }
  step->level = level_name(raise.level);
  step->format = raise.format;
  if (!raise.has_format) step->format = raise.condition.empty() ? raise.sqlstate : raise.condition;
  for (const auto& arg : raise.args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, binder_.bind(*arg, nullptr));
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

Status PlBinder::bind_sql(const plpgsql::Sql& statement, StepList* out) {
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
  auto step = new_step(StepKind::kDml, statement);
  SCYPER_ASSIGN_OR_RETURN(step->dml, binder_.bind_dml(*statement.statement));
  if (!statement.into.targets.empty()) {
    if (step->dml->returning.empty())
      return binder_.error("42601", "INTO used with a command that cannot return data", statement.into.location);
    SCYPER_RETURN_IF_ERROR(bind_targets(statement.into.targets, step->dml->returning, &step->into));
    step->into.strict = statement.into.strict;
  } else if (!step->dml->returning.empty()) {
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

Status PlBinder::bind_diagnostics(const plpgsql::GetDiagnostics& statement, StepList* out) {
  for (const auto& item : statement.items) {
    auto step = new_step(StepKind::kAssign, statement);
    SCYPER_ASSIGN_OR_RETURN(step->variable, target_variable(item.target.name, item.target.location));
    const char* source = nullptr;
    switch (item.item) {
      case plpgsql::DiagnosticsItem::kRowCount:
        break;
      case plpgsql::DiagnosticsItem::kReturnedSqlstate:
        source = "sqlstate";
        break;
      case plpgsql::DiagnosticsItem::kMessageText:
        source = "sqlerrm";
        break;
      case plpgsql::DiagnosticsItem::kErrorDetail:
        source = " detail";
        break;
      case plpgsql::DiagnosticsItem::kErrorHint:
        source = " hint";
        break;
      default:
        return binder_.error("0A000", "this diagnostics item is not supported", statement.location);
    }
    SqlType type = binder_.program_->variables[step->variable].type;
    if (source == nullptr) {
      // the generator supplies the count as bigint in place of kRowCount
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
