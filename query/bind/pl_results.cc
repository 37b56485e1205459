#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "bind/make.h"
#include "bind/pl_binder.h"
#include "runtime/functions_record.h"

// RETURN in all its forms, and assignments of whole rows.
namespace scyper::query {

// A SELECT whose outputs are the fields of a row: one output that is a whole row stands for its fields.
StatusOr<std::unique_ptr<BoundQuery>> PlBinder::bind_rows(const ast::Statement& statement, bool composite) {
  bool saved = std::exchange(binder_.keep_rows_, composite);
  auto bound = binder_.bind_select(ast::node_as<ast::SelectStatement>(statement), nullptr);
  binder_.keep_rows_ = saved;
  SCYPER_RETURN_IF_ERROR(bound.status());
  auto& outputs = (*bound)->outputs;
  bool one = outputs.size() == 1 && outputs[0].expr->kind == BoundKind::kRow && outputs[0].expr->query == nullptr &&
             outputs[0].expr->index != kImageRow;
  if (one) {
    BoundPtr row = std::move(outputs[0].expr);
    outputs.clear();
    for (size_t i = 0; i < row->args.size(); i++) outputs.push_back({row->names[i], std::move(row->args[i]), false});
    return bound;
  }
  for (auto& output : outputs) {
    if (output.expr->kind != BoundKind::kRow) continue;
    SCYPER_ASSIGN_OR_RETURN(output.expr, binder_.row_text(std::move(output.expr)));
  }
  return bound;
}

StatusOr<std::unique_ptr<BoundQuery>> PlBinder::row_query(const ast::Expr& value, std::string_view what,
                                                          const std::vector<uint32_t>* targets) {
  if (const auto* subquery = ast::node_if<ast::ScalarSubquery>(&value); subquery != nullptr)
    return bind_rows(*subquery->subquery, true);
  binder_.aggregate_clause_ = "this context";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr row, binder_.bind(value, nullptr));
  if (row->kind == BoundKind::kConst && row->value.null) return std::unique_ptr<BoundQuery>();
  if (row->kind != BoundKind::kRow)
    return binder_.error("42804",
                         what != "assign" ? "cannot return non-composite value from function returning composite type"
                                          : "cannot assign non-composite value to a record variable",
                         -1);
  if (row->index == kAbsentRow) return std::unique_ptr<BoundQuery>();
  if (row->index == kImageRow) {
    if (targets == nullptr) return binder_.no_image(*row, "assigning to another record");
    return image_query(*row, what, *targets);
  }
  if (row->query != nullptr) return std::move(row->query);
  auto query = std::make_unique<BoundQuery>();
  query->id = ++binder_.query_count_;
  for (size_t i = 0; i < row->args.size(); i++) {
    BoundPtr& field = row->args[i];
    if (field->type.id == TypeId::kUnknown) {
      SCYPER_ASSIGN_OR_RETURN(field, binder_.coerce(std::move(field), make_type(TypeId::kText), Coercion::kImplicit));
    }
    query->outputs.push_back({row->names[i], std::move(field), false});
  }
  return query;
}

// The fields of a record whose columns show when it runs. What is returned has to have the types of the result.
StatusOr<std::unique_ptr<BoundQuery>> PlBinder::image_query(const BoundExpr& row, std::string_view what,
                                                            const std::vector<uint32_t>& targets) {
  SqlType text = make_type(TypeId::kText);
  std::string expected;
  for (uint32_t target : targets)
    absl::StrAppend(&expected, expected.empty() ? "" : ",", plain_name(binder_.program_->variables[target].type));
  const char* message = what == "next" ? "wrong record type supplied in RETURN NEXT"
                        : what == "trigger"
                            ? "returned row structure does not match the structure of the triggering table"
                            : "returned record type does not match expected record type";
  auto query = std::make_unique<BoundQuery>();
  query->id = ++binder_.query_count_;
  for (size_t i = 0; i < targets.size(); i++) {
    const SqlType type = binder_.program_->variables[targets[i]].type;
    BoundPtr field;
    if (what == "assign") {
      SCYPER_ASSIGN_OR_RETURN(field, binder_.image_field(row, i, type));
    } else {
      std::vector<BoundPtr> more;
      more.push_back(make_constant(make_type(TypeId::kInt4), int_datum(static_cast<int64_t>(i)), -1));
      more.push_back(make_text_constant(text, expected, -1));
      more.push_back(make_text_constant(text, message, -1));
      SCYPER_ASSIGN_OR_RETURN(field, binder_.image_call(" image result", row, std::move(more)));
      SCYPER_ASSIGN_OR_RETURN(field, binder_.coerce(std::move(field), type, Coercion::kExplicit));
    }
    query->outputs.push_back({"", std::move(field), false});
  }
  return query;
}

// A field was assigned: the image of a record that dynamic SQL filled has it, too.
Status PlBinder::note_field(const ast::Name& name, uint32_t variable, const plpgsql::Statement& statement,
                            StepList* out) {
  Record* record = name.size() == 2 ? find_record({name[0]}) : nullptr;
  if (record == nullptr || record->loose == nullptr) return absl::OkStatus();
  SqlType text = make_type(TypeId::kText);
  auto step = new_step(StepKind::kAssign, statement);
  step->variable = binder_.image_variable(record->loose.get());
  std::vector<BoundPtr> args;
  args.push_back(make_variable(step->variable, text, true, -1));
  args.push_back(make_text_constant(text, name[1], -1));
  args.push_back(make_variable(variable, text, true, -1));
  SCYPER_ASSIGN_OR_RETURN(step->expr, binder_.make_call(" image set", std::move(args), -1));
  out->push_back(std::move(step));
  return absl::OkStatus();
}

namespace {
// What a function that returns record gives to a list of columns: their very types, as PL/pgSQL has no casts there.
Status check_record(const Routine& routine, const std::vector<OutputColumn>& outputs, std::string_view what) {
  if (routine.record_columns.empty() || routine.is_sql || (what != "return" && what != "next")) return absl::OkStatus();
  std::vector<std::string> given, expected;
  for (const auto& output : outputs)
    if (!output.hidden) given.push_back(plain_name(output.expr->type));
  for (const auto& column : routine.record_columns) expected.push_back(plain_name(column.type));
  return check_returned_types(given, expected,
                              what == "next" ? "wrong record type supplied in RETURN NEXT"
                                             : "returned record type does not match expected record type");
}

// Of the last statement of an SQL function, whose values are assigned to the columns. may_be: whether one can be.
Status check_record_columns(const Routine& routine, const std::vector<OutputColumn>& outputs,
                            const std::function<bool(const BoundExpr&, const SqlType&)>& may_be) {
  if (routine.record_columns.empty()) return absl::OkStatus();
  const auto mismatch = [](const std::string& detail) {
    return with_detail(sql_error("42P13", "return type mismatch in function declared to return record"), detail);
  };
  size_t count = 0;
  for (const auto& output : outputs) {
    if (output.hidden) continue;
    if (count == routine.record_columns.size()) return mismatch("Final statement returns too many columns.");
    const SqlType& wanted = routine.record_columns[count++].type;
    if (!may_be(*output.expr, wanted))
      return mismatch(absl::StrCat("Final statement returns ", plain_name(output.expr->type), " instead of ",
                                   plain_name(wanted), " at column ", count, "."));
  }
  return count == routine.record_columns.size() ? absl::OkStatus()
                                                : mismatch("Final statement returns too few columns.");
}
}  // namespace

// All fields at once: the value may read what it is assigned to. A record takes the value's shape.
Status PlBinder::assign_row(const ast::Expr& value, Record* record, const std::vector<uint32_t>& variables,
                            std::string_view what, const plpgsql::Statement& statement, StepList* out) {
  bool shapes = record != nullptr && !record->fixed;  // takes the shape of the value
  SCYPER_ASSIGN_OR_RETURN(auto query, row_query(value, what, shapes ? nullptr : &variables));
  if (query == nullptr) {
    for (uint32_t variable : variables) {
      auto step = new_step(StepKind::kAssign, statement);
      step->variable = variable;
      step->expr = make_null(binder_.program_->variables[variable].type, statement.location);
      out->push_back(std::move(step));
    }
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(check_record(routine_, query->outputs, what));
  auto step = new_step(StepKind::kQuery, statement);
  step->into.present = true;
  // (SELECT ...) is run as a query, of other values the generator sees it
  step->tells = ast::node_if<ast::ScalarSubquery>(&value) != nullptr ? Tells::kOneRow : Tells::kNothing;
  if (record != nullptr) {
    SCYPER_RETURN_IF_ERROR(shape_record(record, query->outputs));
    step->into.variables = record->variables;
  } else {
    step->into.variables = variables;
  }
  step->query = std::move(query);
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_return(const plpgsql::Return& statement, StepList* out) {
  if (routine_.trigger != nullptr) return bind_trigger_return(statement, out);
  auto step = new_step(StepKind::kReturn, statement);
  const BoundProgram& program = *binder_.program_;
  if (routine_.returns_set && statement.value != nullptr)
    return with_hint(
        binder_.error("42804", "RETURN cannot have a parameter in function returning set", statement.location),
        "Use RETURN NEXT or RETURN QUERY.");
  bool wants = !routine_.procedure && !routine_.returns_set && (returns_row_ || program.result_variables.empty()) &&
               routine_.return_type.id != TypeId::kVoid;
  if (statement.value != nullptr && !wants)
    return binder_.error("42804",
                         routine_.procedure ? "RETURN cannot have a parameter in a procedure"
                         : routine_.return_type.id == TypeId::kVoid
                             ? "RETURN cannot have a parameter in function returning void"
                             : "RETURN cannot have a parameter in function with OUT parameters",
                         statement.location);
  if (statement.value == nullptr && wants)
    return binder_.error("42601", "missing expression at or near \";\"", statement.location);
  if (wants && returns_row_) {
    SCYPER_RETURN_IF_ERROR(assign_row(*statement.value, nullptr, program.result_variables, "return", statement, out));
  } else if (wants) {
    SCYPER_ASSIGN_OR_RETURN(step->expr, expression(*statement.value, routine_.return_type));
    SCYPER_ASSIGN_OR_RETURN(step->expr, binder_.to_domain(std::move(step->expr), routine_.return_domain));
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::bind_return_next(const plpgsql::ReturnNext& statement, StepList* out) {
  const BoundProgram& program = *binder_.program_;
  if (!routine_.returns_set)
    return binder_.error("42804", "cannot use RETURN NEXT in a non-SETOF function", statement.location);
  auto step = new_step(StepKind::kReturnNext, statement);
  bool has_outputs = !returns_row_ && !program.result_variables.empty();
  if (has_outputs && statement.value != nullptr)
    return binder_.error("42804", "RETURN NEXT cannot have a parameter in function with OUT parameters",
                         statement.location);
  if (!has_outputs && statement.value == nullptr)
    return binder_.error("42601", "missing expression at or near \";\"", statement.location);
  if (returns_row_) {
    SCYPER_RETURN_IF_ERROR(assign_row(*statement.value, nullptr, program.result_variables, "next", statement, out));
  } else if (!has_outputs) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, expression(*statement.value, routine_.return_type));
    SCYPER_ASSIGN_OR_RETURN(value, binder_.to_domain(std::move(value), routine_.return_domain));
    step->args.push_back(std::move(value));
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

Status PlBinder::check_structure(const std::vector<OutputColumn>& outputs) {
  std::vector<std::string> given, expected;
  for (const auto& output : outputs)
    if (!output.hidden) given.push_back(plain_name(output.expr->type));
  for (const auto& column : binder_.program_->columns) expected.push_back(plain_name(column.type));
  return check_returned_types(given, expected, "structure of query does not match function result type");
}

Status PlBinder::bind_return_query(const plpgsql::ReturnQuery& statement, StepList* out) {
  if (!routine_.returns_set && routine_.is_sql) return bind_sql_result(statement, out);
  if (!routine_.returns_set)
    return binder_.error("42804", "cannot use RETURN QUERY in a non-SETOF function", statement.location);
  auto step = new_step(StepKind::kReturnQuery, statement);
  if (statement.query == nullptr) {
    SCYPER_RETURN_IF_ERROR(bind_text_and_args(*statement.text, statement.args, step.get()));
    out->push_back(std::move(step));
    return absl::OkStatus();
  }
  if (statement.query->kind == ast::StatementKind::kSelect) {
    SCYPER_ASSIGN_OR_RETURN(step->query, bind_rows(*statement.query, returns_row_ && routine_.is_sql));
  } else {
    SCYPER_ASSIGN_OR_RETURN(step->dml, binder_.bind_dml(*statement.query));
  }
  auto& outputs = step->dml != nullptr ? step->dml->returning : step->query->outputs;
  if (!routine_.is_sql) SCYPER_RETURN_IF_ERROR(check_structure(outputs));
  if (routine_.is_sql)
    SCYPER_RETURN_IF_ERROR(check_record_columns(routine_, outputs, [&](const BoundExpr& expr, const SqlType& type) {
      return binder_.coerce(clone(expr), type, Coercion::kAssignment).ok();
    }));
  size_t visible = static_cast<size_t>(
      std::count_if(outputs.begin(), outputs.end(), [](const OutputColumn& output) { return !output.hidden; }));
  if (visible != binder_.program_->columns.size())
    return binder_.error(
        "42P13",
        absl::StrCat("return type mismatch in function declared to return ",
                     routine_.return_relation.empty() ? type_name(routine_.return_type) : routine_.return_relation),
        -1);
  out->push_back(std::move(step));
  return absl::OkStatus();
}

// The last statement of an SQL function that gives no set: its first row.
Status PlBinder::bind_sql_result(const plpgsql::ReturnQuery& statement, StepList* out) {
  bool is_query = statement.query->kind == ast::StatementKind::kSelect;
  auto step = new_step(is_query ? StepKind::kQuery : StepKind::kDml, statement);
  if (is_query) {
    SCYPER_ASSIGN_OR_RETURN(step->query, bind_rows(*statement.query, returns_row_));
  } else {
    SCYPER_ASSIGN_OR_RETURN(step->dml, binder_.bind_dml(*statement.query));
  }
  const auto& outputs = is_query ? step->query->outputs : step->dml->returning;
  SCYPER_RETURN_IF_ERROR(check_record_columns(routine_, outputs, [&](const BoundExpr& expr, const SqlType& type) {
    return binder_.coerce(clone(expr), type, Coercion::kAssignment).ok();
  }));
  size_t visible = static_cast<size_t>(
      std::count_if(outputs.begin(), outputs.end(), [](const OutputColumn& output) { return !output.hidden; }));
  const auto& variables = binder_.program_->result_variables;
  if (visible != variables.size())
    return with_detail(
        binder_.error(
            "42P13",
            absl::StrCat("return type mismatch in function declared to return ", type_name(routine_.return_type)), -1),
        is_query ? "Final statement must return exactly one column."
                 : "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.");
  step->into.present = true;
  step->into.variables = variables;
  out->push_back(std::move(step));
  out->push_back(new_step(StepKind::kReturn, statement));
  return absl::OkStatus();
}

}  // namespace scyper::query
