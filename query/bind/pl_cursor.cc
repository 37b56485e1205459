#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/make.h"
#include "bind/pl_binder.h"
#include "parse/type_resolver.h"

// Cursors, dynamic SQL and the end of transactions inside procedures.
namespace scyper::query {

// --- cursors ---

Status PlBinder::bind_cursor(const plpgsql::Declaration& d, VariableScope* scope, StepList* out) {
  SqlType text = make_type(TypeId::kText);
  VariableScope::Cursor cursor;
  cursor.declaration = d.cursor.get();
  cursor.scope = scope;
  for (const auto& p : d.cursor->parameters) {
    uint32_t domain = 0;
    SCYPER_ASSIGN_OR_RETURN(SqlType type, declared_type(p.type, &domain));
    cursor.parameters.push_back(binder_.new_variable(p.name, type));
    binder_.set_domain(cursor.parameters.back(), domain);
  }
  uint32_t variable = binder_.new_variable(d.name, text);
  auto step = std::make_unique<Step>();
  step->kind = StepKind::kAssign;
  step->location = d.location;
  step->variable = variable;
  step->expr = make_text_constant(text, d.name, d.location);
  out->push_back(std::move(step));
  scope->variables[d.name] = variable;
  scope->cursors[d.name] = std::move(cursor);
  return absl::OkStatus();
}

const VariableScope::Cursor* PlBinder::find_cursor(const ast::Name& name) const {
  if (name.size() != 1) return nullptr;
  for (const VariableScope* s = scope_; s != nullptr; s = s->parent) {
    if (auto it = s->cursors.find(name[0]); it != s->cursors.end()) return &it->second;
    if (s->variables.count(name[0]) != 0) return nullptr;
  }
  return nullptr;
}

Status PlBinder::bind_cursor_arguments(const VariableScope::Cursor& cursor, const std::vector<ast::ExprPtr>& args,
                                       const std::vector<std::string>& names, const plpgsql::Statement& statement,
                                       StepList* out) {
  const auto& parameters = cursor.declaration->parameters;
  if (args.size() != parameters.size())
    return binder_.error("42601",
                         parameters.empty()                ? "cursor has no arguments"
                         : args.empty()                    ? "cursor has arguments"
                         : args.size() < parameters.size() ? "not enough arguments for cursor"
                                                           : "too many arguments for cursor",
                         statement.location);
  if (args.empty()) return absl::OkStatus();
  // SELECT args INTO parameters: FOUND and ROW_COUNT tell of its row
  auto step = new_step(StepKind::kQuery, statement);
  step->query = std::make_unique<BoundQuery>();
  step->query->id = ++binder_.query_count_;
  step->into.present = true;
  for (size_t i = 0; i < args.size(); i++) {
    size_t at = i;
    if (i < names.size() && !names[i].empty()) {
      at = 0;
      while (at < parameters.size() && parameters[at].name != names[i]) at++;
      if (at == parameters.size())
        return binder_.error("42601", absl::StrCat("cursor has no argument named \"", names[i], "\""),
                             statement.location);
    }
    const uint32_t variable = cursor.parameters[at];
    const SqlType type = binder_.program_->variables[variable].type;  // the expression may make variables
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, expression(*args[i], type));
    step->query->outputs.push_back({parameters[at].name, std::move(value), false});
    step->into.variables.push_back(variable);
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<BoundQuery>> PlBinder::bind_cursor_query(const VariableScope::Cursor& cursor) {
  VariableScope scope;
  scope.parent = cursor.scope;
  for (size_t i = 0; i < cursor.parameters.size(); i++)
    scope.variables[cursor.declaration->parameters[i].name] = cursor.parameters[i];
  const VariableScope* saved = std::exchange(binder_.variables_, &scope);
  StatusOr<std::unique_ptr<BoundQuery>> query =
      cursor.declaration->query->kind == ast::StatementKind::kSelect
          ? binder_.bind_select(ast::node_as<ast::SelectStatement>(*cursor.declaration->query), nullptr)
          : binder_.error("0A000", "cursors over other statements than SELECT are not supported", -1);
  binder_.variables_ = saved;
  return query;
}

StatusOr<uint32_t> PlBinder::cursor_variable(const plpgsql::Target& target) {
  SCYPER_ASSIGN_OR_RETURN(uint32_t variable, target_variable(target.name, target.location));
  if (!is_string(binder_.program_->variables[variable].type.id))
    return binder_.error("42804",
                         absl::StrCat("variable \"", target.name.back(), "\" must be of type cursor or refcursor"),
                         target.location);
  return variable;
}

// Whether what it returns may be the name of a cursor: refcursor is a text here.
bool PlBinder::gives_cursors() const {
  const auto is_name = [](const SqlType& type) { return type.id == TypeId::kText; };
  return is_name(routine_.return_type) ||
         std::any_of(routine_.parameters.begin(), routine_.parameters.end(), [&](const RoutineParameter& parameter) {
           return parameter.mode != ParameterMode::kIn && is_name(parameter.type);
         });
}

Status PlBinder::bind_open(const plpgsql::Open& statement, StepList* out) {
  auto step = new_step(StepKind::kOpen, statement);
  SCYPER_ASSIGN_OR_RETURN(step->variable, cursor_variable(statement.cursor));
  const VariableScope::Cursor* cursor = find_cursor(statement.cursor.name);
  plpgsql::ScrollOption scroll = statement.scroll;
  cursor_columns_.erase(step->variable);
  if (statement.text != nullptr) {
    SCYPER_RETURN_IF_ERROR(bind_text_and_args(*statement.text, statement.args, step.get()));
  } else if (statement.query != nullptr) {
    if (cursor != nullptr)
      return binder_.error("42601", "cursor with a query of its own cannot be opened for another", statement.location);
    if (statement.query->kind != ast::StatementKind::kSelect)
      return binder_.error("0A000", "cursors over other statements than SELECT are not supported", statement.location);
    SCYPER_ASSIGN_OR_RETURN(step->query,
                            binder_.bind_select(ast::node_as<ast::SelectStatement>(*statement.query), nullptr));
  } else {
    if (cursor == nullptr) return binder_.error("42601", "syntax error at or near \";\"", statement.location);
    scroll = cursor->declaration->scroll;
    SCYPER_RETURN_IF_ERROR(bind_cursor_arguments(*cursor, statement.args, statement.arg_names, statement, out));
    SCYPER_ASSIGN_OR_RETURN(step->query, bind_cursor_query(*cursor));
  }
  // A cursor that leaves the routine is the client's, who fetches from it in later statements of the transaction.
  if (gives_cursors()) binder_.program_->writes = true;
  step->scroll = scroll != plpgsql::ScrollOption::kNoScroll;
  if (step->query != nullptr)
    for (const auto& output : step->query->outputs)
      if (!output.hidden)
        cursor_columns_[step->variable].push_back({output.name, make_null(output.expr->type, -1), false});
  if (step->query != nullptr) {
    const ast::Statement& text = statement.query != nullptr ? *statement.query : *cursor->declaration->query;
    const auto rows = add_identities(ast::node_as<ast::SelectStatement>(text), step->query.get());
    step->tracked = rows.tracked;
    step->locks = rows.locks;
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_fetch(const plpgsql::Fetch& statement, StepList* out) {
  auto step = new_step(StepKind::kFetch, statement);
  SCYPER_ASSIGN_OR_RETURN(step->variable, cursor_variable(statement.cursor));
  step->direction = static_cast<uint8_t>(statement.direction);
  step->all = statement.all;
  if (statement.count != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(step->expr, expression(*statement.count, make_type(TypeId::kInt4)));
  }
  if (statement.move) {
    out->push_back(std::move(step));
    return absl::OkStatus();
  }
  auto known = cursor_columns_.find(step->variable);
  const VariableScope::Cursor* cursor = find_cursor(statement.cursor.name);
  if (known == cursor_columns_.end() && cursor != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(auto query, bind_cursor_query(*cursor));
    SCYPER_RETURN_IF_ERROR(bind_targets(statement.into.targets, query->outputs, &step->into));
  } else if (known != cursor_columns_.end()) {
    SCYPER_RETURN_IF_ERROR(bind_targets(statement.into.targets, known->second, &step->into));
  } else {
    SCYPER_RETURN_IF_ERROR(bind_loose_targets(statement.into.targets, &step->into));
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_close(const plpgsql::Close& statement, StepList* out) {
  auto step = new_step(StepKind::kClose, statement);
  SCYPER_ASSIGN_OR_RETURN(step->variable, cursor_variable(statement.cursor));
  out->push_back(std::move(step));
  return absl::OkStatus();
}

// A loop over a cursor is one over its query.
Status PlBinder::bind_for_cursor(const plpgsql::ForCursor& loop, StepList* out) {
  const VariableScope::Cursor* cursor = find_cursor(loop.cursor.name);
  if (cursor == nullptr)
    return binder_.error("42601", "cursor FOR loop must use a bound cursor variable", loop.cursor.location);
  SCYPER_RETURN_IF_ERROR(bind_cursor_arguments(*cursor, loop.args, loop.arg_names, loop, out));
  auto step = new_step(StepKind::kForQuery, loop);
  SCYPER_ASSIGN_OR_RETURN(step->query, bind_cursor_query(*cursor));
  records_.push_back(std::make_unique<Record>());
  Record* record = records_.back().get();
  SCYPER_RETURN_IF_ERROR(shape_record(record, step->query->outputs));
  step->into.present = true;
  step->into.variables = record->variables;
  VariableScope scope;
  VariableScope::CursorLoop& rows = scope.loops[loop.cursor.name.back()];
  rows = add_identities(ast::node_as<ast::SelectStatement>(*cursor->declaration->query), step->query.get());
  for (const auto& [table, key] : rows.keys)
    step->into.variables.insert(step->into.variables.end(), key.begin(), key.end());
  scope.parent = scope_;
  scope.records[loop.target.name.back()] = record;
  scope_ = &scope;
  binder_.variables_ = &scope;
  Status status = bind_loop_body(loop.label, loop.body, std::move(step), out);
  scope_ = const_cast<VariableScope*>(scope.parent);
  binder_.variables_ = scope_;
  return status;
}

Status PlBinder::bind_loop_body(const std::string& label, const plpgsql::Statements& body, std::unique_ptr<Step> step,
                                StepList* out) {
  step->label = open_label(label, true);
  Shapes before = save_shapes();
  Status status = bind_statements(body, &step->body);
  merge_shapes(before);
  labels_.pop_back();
  SCYPER_RETURN_IF_ERROR(status);
  out->push_back(std::move(step));
  return absl::OkStatus();
}

// --- dynamic SQL ---

Status PlBinder::bind_text_and_args(const ast::Expr& text, const std::vector<ast::ExprPtr>& args, Step* step) {
  SCYPER_ASSIGN_OR_RETURN(step->expr, expression(text, make_type(TypeId::kText)));
  for (const auto& arg : args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, value_of(*arg, nullptr));
    if (value->kind == BoundKind::kRow)
      return binder_.error("0A000", "whole rows as parameters of EXECUTE are not supported", arg->location);
    if (value->type.id == TypeId::kUnknown) {
      SCYPER_ASSIGN_OR_RETURN(value, binder_.coerce(std::move(value), make_type(TypeId::kText), Coercion::kImplicit));
    }
    step->args.push_back(std::move(value));
  }
  BoundProgram& program = *binder_.program_;
  program.is_dynamic = program.writes = program.writes_shared = program.volatile_result = true;
  return absl::OkStatus();
}

// Where the columns are not known: scalars and rows of a declared type take them by position, a record by name.
Status PlBinder::bind_loose_targets(const std::vector<plpgsql::Target>& targets, IntoTargets* into) {
  Record* record = targets.size() == 1 ? find_record(targets[0].name) : nullptr;
  if (record == nullptr || record->fixed) return bind_targets(targets, {}, into);
  into->present = true;
  if (record->loose == nullptr) record->loose = std::make_shared<LooseRecord>();
  record->assigned = true;
  record->names.clear();
  record->variables.clear();
  into->loose = record->loose;
  return absl::OkStatus();
}

Status PlBinder::bind_execute(const plpgsql::Execute& statement, StepList* out) {
  auto step = new_step(StepKind::kExecute, statement);
  step->tells = Tells::kOneRow;  // as many as there are, but FOUND stays
  SCYPER_RETURN_IF_ERROR(bind_text_and_args(*statement.text, statement.args, step.get()));
  if (!statement.into.targets.empty()) SCYPER_RETURN_IF_ERROR(bind_loose_targets(statement.into.targets, &step->into));
  step->into.strict = statement.into.strict;
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_for_execute(const plpgsql::ForExecute& loop, StepList* out) {
  auto step = new_step(StepKind::kForRows, loop);
  SCYPER_RETURN_IF_ERROR(bind_text_and_args(*loop.text, loop.args, step.get()));
  SCYPER_RETURN_IF_ERROR(bind_loose_targets(loop.targets, &step->into));
  return bind_loop_body(loop.label, loop.body, std::move(step), out);
}

// --- transactions ---

Status PlBinder::bind_transaction(const plpgsql::Transaction& statement, StepList* out) {
  auto step = new_step(StepKind::kTransaction, statement);
  step->commit = statement.commit;
  step->in_handlers = exception_depth_ > 0;
  if (!routine_.procedure) {  // a function belongs to its caller's statement
    step->kind = StepKind::kRaise;
    step->level = "exception";
    step->format = "invalid transaction termination";
    step->options.emplace_back("errcode", make_text_constant(make_type(TypeId::kText), "2D000", statement.location));
    out->push_back(std::move(step));
    return absl::OkStatus();
  }
  binder_.program_->volatile_result = true;
  binder_.program_->writes = binder_.program_->writes_shared = true;
  out->push_back(std::move(step));
  return absl::OkStatus();
}

}  // namespace scyper::query
