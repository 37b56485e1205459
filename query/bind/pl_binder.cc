#include "bind/pl_binder.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/invariant.h"
#include "base/object_name.h"
#include "bind/make.h"
#include "bind/object_numbers.h"
#include "parse/conditions.h"
#include "parse/type_resolver.h"
#include "storage/json_text_type.h"

namespace scyper::query {

using plpgsql::StatementKind;

namespace {
template <class T>
const T& as(const plpgsql::Statement& statement) {
  return ast::node_as<T>(statement);
}
}  // namespace

StatusOr<std::unique_ptr<BoundProgram>> Binder::bind_routine(const Routine& routine, const plpgsql::Body& body) {
  program_->name = bare_name(routine.name);
  program_->is_routine = true;
  program_->return_type = routine.procedure ? SqlType{} : routine.return_type;
  PlBinder pl(this, routine);
  SCYPER_RETURN_IF_ERROR(pl.bind(body));
  return std::move(program_);
}

Status PlBinder::bind(const plpgsql::Body& body) {
  BoundProgram& program = *binder_.program_;
  program.returns_set = routine_.returns_set;
  VariableScope outer;
  outer.label = bare_name(routine_.name);
  scope_ = &outer;
  binder_.variables_ = scope_;
  binder_.variable_conflict_ = body.variable_conflict;
  if (routine_.trigger != nullptr) {
    SCYPER_RETURN_IF_ERROR(bind_trigger_variables(&program.steps));
  } else {
    SCYPER_RETURN_IF_ERROR(bind_parameters(&program.steps));
    SCYPER_RETURN_IF_ERROR(bind_results());
  }
  found_ = binder_.new_variable("found", make_type(TypeId::kBool));
  outer.variables["found"] = found_;
  program.found_variable = found_;
  is_late_ = !routine_.is_sql && defines(*body.block);
  SCYPER_RETURN_IF_ERROR(bind_block(*body.block, &program.steps));
  if (returns_row_ && !routine_.returns_set && !routine_.is_sql) raise_no_return(&program.steps);
  scope_ = nullptr;
  binder_.variables_ = nullptr;
  return absl::OkStatus();
}

// At the end of what is to return a row; values' RETURN the generator misses.
void PlBinder::raise_no_return(StepList* out) {
  auto raise = std::make_unique<Step>();
  raise->kind = StepKind::kRaise;
  raise->level = "exception";
  raise->format = absl::StrCat("control reached end of ",
                               routine_.trigger != nullptr ? "trigger procedure" : "function", " without RETURN");
  raise->options.emplace_back("errcode", make_text_constant(make_type(TypeId::kText), "2F005", -1));
  out->push_back(std::move(raise));
}

namespace {
// By which number the body refers to a parameter: in LANGUAGE sql only the inputs count.
std::string number_of_parameter(const Routine& routine, size_t index) {
  if (!routine.is_sql) return absl::StrCat("$", index + 1);
  const bool is_output = routine.parameters[index].mode == ParameterMode::kOut;
  size_t number = is_output ? routine.input_count() : 0;
  for (size_t i = 0; i <= index; i++)
    number += (routine.parameters[i].mode == ParameterMode::kOut) == is_output ? 1 : 0;
  return absl::StrCat("$", number);
}
}  // namespace

// Inputs first: they are the arguments. A row is its fields. What is of a domain is checked first of all.
Status PlBinder::bind_parameters(StepList* out) {
  BoundProgram& program = *binder_.program_;
  VariableScope& outer = *scope_;
  for (bool outputs : {false, true}) {
    for (size_t i = 0; i < routine_.parameters.size(); i++) {
      const RoutineParameter& p = routine_.parameters[i];
      if ((p.mode == ParameterMode::kOut) != outputs) continue;
      const std::string number = number_of_parameter(routine_, i);
      if (p.type.id == TypeId::kRecord) {
        SCYPER_ASSIGN_OR_RETURN(auto columns, binder_.relation_columns(p.relation, -1));
        Record* record = new_record(columns);
        if (!p.name.empty()) outer.records[p.name] = record;
        outer.records[number] = record;
        continue;
      }
      uint32_t variable = binder_.new_variable(p.name, p.type);
      if (!p.name.empty()) outer.variables[p.name] = variable;
      outer.variables[number] = variable;
      binder_.set_domain(variable, p.domain);
      if (p.mode == ParameterMode::kOut || program.variables[variable].domain_call == kNoVariable) continue;
      auto step = std::make_unique<Step>();
      step->kind = StepKind::kAssign;
      step->variable = variable;
      step->expr = make_variable(variable, p.type, true, -1);
      out->push_back(std::move(step));
    }
    if (!outputs) program.parameters = static_cast<uint32_t>(program.variables.size());
  }
  return absl::OkStatus();
}

Status PlBinder::bind_results() {
  BoundProgram& program = *binder_.program_;
  bool has_outputs = false;
  for (size_t i = 0; i < routine_.parameters.size(); i++) {
    const RoutineParameter& p = routine_.parameters[i];
    if (p.mode == ParameterMode::kIn) continue;
    has_outputs = true;
    const std::string number = number_of_parameter(routine_, i);
    if (auto variable = scope_->variables.find(number); variable != scope_->variables.end()) {
      program.result_variables.push_back(variable->second);
      program.columns.push_back({p.name, p.type, true, false});
      continue;
    }
    const Record& record = *scope_->records.find(number)->second;
    for (size_t f = 0; f < record.names.size(); f++) {
      program.result_variables.push_back(record.variables[f]);
      program.columns.push_back({record.names[f], program.variables[record.variables[f]].type, true, false});
    }
  }
  if (routine_.procedure || has_outputs) return absl::OkStatus();
  SCYPER_ASSIGN_OR_RETURN(program.columns, binder_.result_columns(routine_));
  returns_row_ = Binder::is_composite(routine_) || !routine_.record_columns.empty();
  bool has_value = routine_.return_type.id != TypeId::kVoid;
  if (has_value && !returns_row_) scope_->variables["$0"] = binder_.new_variable("", routine_.return_type);
  auto add_result = [&](const RelationColumn& column) {
    program.result_variables.push_back(binder_.new_variable("", column.type));
    binder_.set_domain(program.result_variables.back(), column.domain);
  };
  if (routine_.is_sql && !has_value)  // NULL, where PL/pgSQL gives an empty value
    program.result_variables.push_back(binder_.new_variable("", routine_.return_type));
  if (returns_row_ || (routine_.is_sql && has_value))
    for (const auto& column : program.columns) add_result(column);
  return absl::OkStatus();
}

PlBinder::Record* PlBinder::new_record(const std::vector<RelationColumn>& columns) {
  records_.push_back(std::make_unique<Record>());
  Record* record = records_.back().get();
  record->assigned = record->fixed = true;
  for (const auto& column : columns) {
    record->names.push_back(column.name);
    record->variables.push_back(binder_.new_variable(column.name, column.type));
    binder_.set_domain(record->variables.back(), column.domain);
  }
  return record;
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
  check_stack();
  for (const auto& statement : statements) SCYPER_RETURN_IF_ERROR(bind_statement(*statement, out));
  return absl::OkStatus();
}

namespace {
// Errors that PostgreSQL finds when it plans a statement, at its first execution; others end the compilation. What is
// not supported is refused at once, so that no handler hides it.
bool is_found_when_run(std::string_view sqlstate) {
  if (sqlstate.substr(0, 2) == "42") return sqlstate != "42601";
  if (sqlstate.substr(0, 2) == "22") return sqlstate != "22005" && sqlstate != "22004";
  return sqlstate == "55000" || sqlstate == "24000";
}
// What a definition may mend until the statement runs.
bool may_fit_later(std::string_view sqlstate) {
  return sqlstate == "42P01" || sqlstate == "42703" || sqlstate == "42883" || sqlstate == "42704";
}
// What a RETURN says that the function's declaration does not allow.
bool is_about_return(absl::string_view message) {
  return absl::StartsWith(message, "RETURN ") || absl::StartsWith(message, "cannot use RETURN ");
}
}  // namespace

// A step that fails with `status` where it is reached.
std::unique_ptr<Step> PlBinder::failing_step(const Status& status, const plpgsql::Statement& statement) const {
  auto step = new_step(StepKind::kRaise, statement);
  step->level = "exception";
  auto option = [&](const char* name, std::string text) {
    if (!text.empty())
      step->options.emplace_back(name,
                                 make_text_constant(make_type(TypeId::kText), std::move(text), statement.location));
  };
  option("errcode", std::string(sqlstate_of(status)));
  option("message", std::string(status.message()));
  option("detail", detail_of(status));
  option("hint", hint_of(status));
  return step;
}

// The binder as it is between statements, after one that failed.
void PlBinder::forget_failed(VariableScope* scope) {
  scope_ = scope;
  binder_.variables_ = scope;
  binder_.aggregate_query_ = nullptr;
  binder_.in_aggregate_ = false;
  binder_.grouped_subquery_ = false;
  binder_.common_tables_.clear();
}

bool PlBinder::fails_when_run(const Status& status, const plpgsql::Statement& statement, StepList* out) {
  if (!is_found_when_run(sqlstate_of(status))) return false;
  forget_failed(scope_);
  out->push_back(failing_step(status, statement));
  return true;
}

Status PlBinder::bind_statement(const plpgsql::Statement& statement, StepList* out) {
  size_t steps = out->size();
  size_t labels = labels_.size();
  VariableScope* scope = scope_;
  auto around = std::exchange(binder_.current_rows_, {});  // of a loop over rows that a change returns
  const bool has_parts = statement.kind == StatementKind::kBlock || statement.kind == StatementKind::kWhile;
  StepList* before = std::exchange(before_, has_parts ? nullptr : out);
  Status status = bind_now(statement, out);
  before_ = before;
  add_current_rows(statement, steps, out);
  binder_.current_rows_ = std::move(around);
  // of a block only declarations are left: they are part of the compilation
  bool compiles = statement.kind != StatementKind::kBlock && !is_about_return(status.message());
  if (status.ok() || !compiles || !is_found_when_run(sqlstate_of(status))) return status;
  out->resize(steps);
  labels_.resize(labels);
  forget_failed(scope);
  if (may_fit_later(sqlstate_of(status)) && !is_late_ && !routine_.is_sql) {
    is_late_ = true;
    before_ = out;
    const Status late = bind_now(statement, out);
    is_late_ = false;
    before_ = before;
    if (late.ok()) return absl::OkStatus();
    out->resize(steps);
    labels_.resize(labels);
    forget_failed(scope);
  }
  out->push_back(failing_step(status, statement));
  return absl::OkStatus();
}

Status PlBinder::bind_now(const plpgsql::Statement& statement, StepList* out) {
  if (is_late_) {
    SCYPER_ASSIGN_OR_RETURN(const bool is_bound, bind_late(statement, out));
    if (is_bound) return absl::OkStatus();
  }
  switch (statement.kind) {
    case StatementKind::kBlock:
      return bind_block(as<plpgsql::Block>(statement), out);
    case StatementKind::kAssign:
      return bind_assign(as<plpgsql::Assign>(statement), out);
    case StatementKind::kIf:
      return bind_if(as<plpgsql::If>(statement), out);
    case StatementKind::kCase:
      return bind_case(as<plpgsql::Case>(statement), out);
    case StatementKind::kLoop:
      return bind_loop(statement, as<plpgsql::Loop>(statement).label, nullptr, as<plpgsql::Loop>(statement).body, out);
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
    case StatementKind::kReturnNext:
      return bind_return_next(as<plpgsql::ReturnNext>(statement), out);
    case StatementKind::kReturnQuery:
      return bind_return_query(as<plpgsql::ReturnQuery>(statement), out);
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
      return bind_transaction(as<plpgsql::Transaction>(statement), out);
    case StatementKind::kExecute:
      return bind_execute(as<plpgsql::Execute>(statement), out);
    case StatementKind::kForExecute:
      return bind_for_execute(as<plpgsql::ForExecute>(statement), out);
    case StatementKind::kForCursor:
      return bind_for_cursor(as<plpgsql::ForCursor>(statement), out);
    case StatementKind::kOpen:
      return bind_open(as<plpgsql::Open>(statement), out);
    case StatementKind::kFetch:
      return bind_fetch(as<plpgsql::Fetch>(statement), out);
    case StatementKind::kClose:
      return bind_close(as<plpgsql::Close>(statement), out);
  }
  return binder_.error("0A000", "this statement is not supported", statement.location);
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

StatusOr<SqlType> PlBinder::declared_type(const ast::TypeName& type, uint32_t* domain) {
  const UserTypes user_types = binder_.catalog_.user_types();
  if (const Domain* found = named_domain(type, user_types); found != nullptr) *domain = found->id;
  if (const auto known = catalog_type(type); known.has_value()) return *known;
  if (!type.percent_type) return resolve_type(type, binder_.source_, user_types);
  uint32_t variable = 0;
  if (binder_.find_variable(type.name, &variable)) {
    *domain = binder_.program_->variables[variable].domain;
    return binder_.program_->variables[variable].type;
  }
  if (type.name.size() >= 2) {
    auto table = binder_.catalog_.find_table(type.name[type.name.size() - 2]);
    if (table == nullptr)
      return binder_.error("42P01", absl::StrCat("relation \"", type.name[type.name.size() - 2], "\" does not exist"),
                           type.location);
    SCYPER_ASSIGN_OR_RETURN(auto columns, binder_.relation_columns(table->schema().name, type.location));
    for (const RelationColumn& column : columns) {
      if (column.name != type.name.back()) continue;
      *domain = column.domain;
      return column.type;
    }
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
  if (record->fixed) return absl::OkStatus();
  record->loose = nullptr;
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
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, value_of(expr, &type));
  return binder_.coerce_assign(std::move(bound), type);
}

// PL/pgSQL assigns through text where no assignment cast exists; lengths are enforced as by an assignment.
StatusOr<BoundPtr> Binder::coerce_assign(BoundPtr expr, const SqlType& type) {
  if (expr->type == type) return expr;
  const bool string_target = is_string(type.id) && !is_checked_text(type);
  if (is_checked_text(expr->type) && !is_string(type.id)) {
    SCYPER_ASSIGN_OR_RETURN(expr, coerce(std::move(expr), make_type(TypeId::kText), Coercion::kExplicit));
  }
  return coerce(std::move(expr), type, string_target ? Coercion::kAssignment : Coercion::kExplicit);
}

StatusOr<BoundPtr> PlBinder::condition(const ast::Expr& expr) {
  const SqlType truth = make_type(TypeId::kBool);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, value_of(expr, &truth));
  if (bound->type.id == TypeId::kBool) return bound;
  return binder_.coerce(std::move(bound), truth, Coercion::kExplicit);
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
    exception_depth_ += block.handlers.empty() ? 0 : 1;
    Status body = bind_statements(block.body, &step->body);
    exception_depth_ -= block.handlers.empty() ? 0 : 1;
    SCYPER_RETURN_IF_ERROR(body);
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
  if (d.cursor != nullptr) return bind_cursor(d, scope, out);
  if (!d.alias_for.empty()) {
    if (Record* record = find_record(d.alias_for); record != nullptr)
      return scope->records[d.name] = record, absl::OkStatus();
    SCYPER_ASSIGN_OR_RETURN(uint32_t variable, target_variable(d.alias_for, d.location));
    scope->variables[d.name] = variable;
    return absl::OkStatus();
  }
  const std::string& word = d.type.name.back();
  bool is_relation = !d.type.percent_type && d.type.array_bounds.empty() &&
                     (d.type.percent_rowtype ||
                      resolve_type(d.type, binder_.source_, binder_.catalog_.user_types()).status().ok() == false) &&
                     (binder_.catalog_.find_table(word) != nullptr || binder_.catalog_.views.count(word) != 0);
  if (is_relation || (word == "record" && !d.type.percent_type)) {
    Record* record = nullptr;
    if (is_relation) {
      SCYPER_ASSIGN_OR_RETURN(auto columns, binder_.relation_columns(word, d.location));
      record = new_record(columns);
    } else {
      records_.push_back(std::make_unique<Record>());
      record = records_.back().get();
    }
    if (d.initial != nullptr) {
      plpgsql::Null at;
      at.location = d.location;
      SCYPER_RETURN_IF_ERROR(assign_row(*d.initial, record, record->variables, "assign", at, out));
    }
    scope->records[d.name] = record;
    return absl::OkStatus();
  }
  if (d.type.percent_rowtype)
    return binder_.error("42P01", absl::StrCat("relation \"", d.type.name.back(), "\" does not exist"), d.location);
  uint32_t domain = 0;
  SCYPER_ASSIGN_OR_RETURN(SqlType type, declared_type(d.type, &domain));
  BoundPtr initial;
  if (d.initial != nullptr) {  // sees the variables before it, not itself
    before_ = out;
    auto value = expression(*d.initial, type);
    before_ = nullptr;
    plpgsql::Null at;
    at.location = d.location;
    if (!value.ok() && !fails_when_run(value.status(), at, out)) return value.status();
    initial = value.ok() ? *std::move(value) : make_null(type, d.location);
  } else {
    if (d.not_null)
      return binder_.error(
          "22004", absl::StrCat("variable \"", d.name, "\" must have a default value, since it's declared NOT NULL"),
          d.location);
    initial = make_null(type, d.location);
  }
  uint32_t variable = binder_.new_variable(d.name, type);
  binder_.program_->variables[variable].not_null = d.not_null;
  binder_.set_domain(variable, domain);
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
    for (const char* name : kErrorFields) {
      clause.variables.push_back(binder_.new_variable(name, make_type(TypeId::kText)));
      scope.variables[name] = clause.variables.back();
    }
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

}  // namespace scyper::query
