#include "compile/definition.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "compile/sql_routine.h"
#include "parse/plpgsql_parser.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "runtime/memory.h"

namespace scyper::query {

using ast::node_as;

Status Definer::error(std::string_view sqlstate, std::string_view message, int32_t location) const {
  return sql_error(sqlstate, message, position_at(text_, location));
}

Catalog& Definer::next() {
  if (next_ == nullptr) {
    next_ = std::make_shared<Catalog>(*old_);
    next_->version++;
  }
  return *next_;
}

StatusOr<std::shared_ptr<Catalog>> Definer::execute(const ast::Statement& statement, ResultSet* result) {
  Status status;
  switch (statement.kind) {
    case ast::StatementKind::kCreateTable:
      status = create_table(node_as<ast::CreateTableStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateIndex:
      status = create_index(node_as<ast::CreateIndexStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateRoutine:
      status = create_routine(node_as<ast::CreateRoutineStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateView:
      status = create_view(node_as<ast::CreateViewStatement>(statement), result);
      break;
    case ast::StatementKind::kAlterTable:
      status = alter_table(node_as<ast::AlterTableStatement>(statement), result);
      break;
    case ast::StatementKind::kRename:
      status = rename(node_as<ast::RenameStatement>(statement), result);
      break;
    case ast::StatementKind::kComment:
      status = comment(node_as<ast::CommentStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateSequence:
      status = create_sequence(node_as<ast::CreateSequenceStatement>(statement), result);
      break;
    case ast::StatementKind::kDrop:
      status = drop(node_as<ast::DropStatement>(statement), result);
      break;
    case ast::StatementKind::kTruncate:
      status = truncate(node_as<ast::TruncateStatement>(statement), result);
      result->command_tag = "TRUNCATE TABLE";
      break;
    default:
      status = error("0A000", "this statement is not supported", statement.location);
  }
  SCYPER_RETURN_IF_ERROR(status);
  return std::move(next_);
}

StatusOr<std::shared_ptr<storage::Table>> Definer::find_table(const ast::Name& name) const {
  auto table = old_->find_table(name.back());
  if (table == nullptr && old_->views.count(name.back()) != 0)
    return error("42809", absl::StrCat("\"", name.back(), "\" is not a table"), -1);
  if (table == nullptr) return error("42P01", absl::StrCat("relation \"", name.back(), "\" does not exist"), -1);
  return table;
}

Status Definer::check_schema(const ast::Name& name) const {
  if (name.size() < 2 || name[name.size() - 2] == "public") return absl::OkStatus();
  return error("3F000", absl::StrCat("schema \"", name[name.size() - 2], "\" does not exist"), -1);
}

bool Definer::name_taken(const std::string& name) const {
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  return catalog.tables.count(name) != 0 || catalog.sequences.count(name) != 0 ||
         catalog.index_tables.count(name) != 0 || catalog.views.count(name) != 0;
}

std::string Definer::free_index_name(std::string base) const {
  std::string name = base;
  for (int i = 1; name_taken(name); i++) name = absl::StrCat(base, i);
  return name;
}

// --- routines ---

namespace {
// Lengths and precisions of parameters and results are not kept, as in PostgreSQL.
void drop_modifiers(SqlType* type) {
  if (type->id == TypeId::kNumeric || type->element == TypeId::kNumeric) type->precision = type->scale = 0;
  type->length = -1;
}
}  // namespace

Status Definer::check_routine(const ast::CreateRoutineStatement& create) const {
  if (create.language != "plpgsql" && create.language != "sql") {
    if (create.language.empty()) return error("42P13", "no language specified", -1);
    return error("0A000", absl::StrCat("language \"", create.language, "\" is not supported"), -1);
  }
  if (!create.has_body) return error("42P13", "no function body specified", -1);
  if (create.returns_table || (create.return_type != nullptr && create.return_type->setof))
    return error("0A000", "set-returning functions are not supported", -1);
  return absl::OkStatus();
}

Status Definer::define_parameters(const ast::CreateRoutineStatement& create, Routine* routine) const {
  bool defaults = false;
  for (const auto& p : create.parameters) {
    RoutineParameter parameter;
    parameter.name = p.name;
    if (p.mode == ast::ParameterMode::kVariadic)
      return error("0A000", "VARIADIC parameters are not supported", p.location);
    parameter.mode = p.mode == ast::ParameterMode::kOut     ? ParameterMode::kOut
                     : p.mode == ast::ParameterMode::kInOut ? ParameterMode::kInOut
                                                            : ParameterMode::kIn;
    SCYPER_ASSIGN_OR_RETURN(parameter.type, resolve_type(p.type, text_));
    drop_modifiers(&parameter.type);
    if (p.default_value != nullptr) {
      parameter.default_text = to_sql(*p.default_value);
      parameter.has_default = defaults = true;
    } else if (defaults && parameter.mode != ParameterMode::kOut) {
      return error("42P13",
                   create.procedure
                       ? "procedure parameters after one with a default value must also have default values"
                       : "input parameters after one with a default value must also have defaults",
                   -1);
    }
    for (const auto& other : routine->parameters)
      if (!p.name.empty() && other.name == p.name)
        return error("42P13", absl::StrCat("parameter name \"", p.name, "\" used more than once"), -1);
    routine->parameters.push_back(std::move(parameter));
  }
  if (create.procedure || create.return_type != nullptr) return absl::OkStatus();
  size_t outs = 0;
  for (const auto& p : routine->parameters)
    if (p.mode != ParameterMode::kIn) outs++, routine->return_type = p.type;
  if (outs == 0) return error("42P13", "function result type must be specified", -1);
  if (outs > 1) return error("0A000", "functions with several OUT parameters are not supported", -1);
  return absl::OkStatus();
}

// Takes the routine that OR REPLACE replaces out of the next catalog.
Status Definer::remove_replaced(const ast::CreateRoutineStatement& create, const Routine& routine) {
  auto inputs = [](const Routine& r) {
    std::vector<SqlType> types;
    for (const auto& p : r.parameters)
      if (p.mode != ParameterMode::kOut) types.push_back(p.type);
    return types;
  };
  auto range = next().routines.equal_range(routine.name);
  auto it = std::find_if(range.first, range.second,
                         [&](const auto& entry) { return inputs(*entry.second) == inputs(routine); });
  if (it == range.second) return absl::OkStatus();
  if (!create.or_replace)
    return error("42723",
                 absl::StrCat(create.procedure ? "procedure" : "function", " \"", routine.name,
                              "\" already exists with same argument types"),
                 -1);
  if (it->second->procedure != routine.procedure) return error("42809", "cannot change routine kind", -1);
  next().routines.erase(it);
  return absl::OkStatus();
}

Status Definer::create_routine(const ast::CreateRoutineStatement& create, ResultSet* result) {
  result->command_tag = create.procedure ? "CREATE PROCEDURE" : "CREATE FUNCTION";
  SCYPER_RETURN_IF_ERROR(check_routine(create));
  Routine routine;
  routine.name = create.name.back();
  routine.procedure = create.procedure;
  routine.strict = create.strict;
  routine.is_volatile = create.volatility == ast::Volatility::kVolatile;
  routine.body = create.body;
  routine.definition =
      std::string(text_.substr(static_cast<size_t>(std::max(0, create.location)), static_cast<size_t>(create.length)));
  routine.return_type = make_type(TypeId::kVoid);
  if (create.return_type != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(routine.return_type, resolve_type(*create.return_type, text_));
    drop_modifiers(&routine.return_type);
  }
  SCYPER_RETURN_IF_ERROR(define_parameters(create, &routine));
  if (create.language == "sql") {
    SCYPER_ASSIGN_OR_RETURN(routine.body, plpgsql_of_sql(create.body, routine));
  }
  if (create.strict && create.procedure) return error("42P13", "invalid attribute in procedure definition", -1);
  // syntax is checked now, names when it is first called, as PostgreSQL does
  auto parsed = parse_plpgsql(routine.body);
  if (!parsed.ok()) {
    int position = position_of(parsed.status());
    int32_t base = create.body_location;
    return sql_error(sqlstate_of(parsed.status()), std::string(parsed.status().message()),
                     base >= 0 && position > 0 ? position_at(text_, base) + position - 1 : 0);
  }
  SCYPER_RETURN_IF_ERROR(remove_replaced(create, routine));
  routine.id = RoutineId(next().next_routine_id++);
  std::string name = routine.name;
  next().routines.emplace(name, std::make_shared<const Routine>(std::move(routine)));
  return absl::OkStatus();
}

std::string signature_of(const Routine& routine) {
  std::string text = routine.name + "(";
  for (size_t i = 0; i < routine.parameters.size(); i++) {
    const auto& p = routine.parameters[i];
    absl::StrAppend(&text, i == 0 ? "" : ", ",
                    p.mode == ParameterMode::kOut     ? "OUT "
                    : p.mode == ParameterMode::kInOut ? "INOUT "
                                                      : "",
                    p.name, p.name.empty() ? "" : " ", type_name(p.type));
  }
  return text + ")";
}

Status Definer::drop_routine(const ast::DropStatement& drop, const ast::ObjectRef& object, ResultSet* result) {
  const std::string& name = object.name.back();
  std::vector<SqlType> wanted;
  for (const auto& argument : object.arguments) {
    SCYPER_ASSIGN_OR_RETURN(SqlType type, resolve_type(argument.type, text_));
    wanted.push_back(type);
  }
  auto range = next().routines.equal_range(name);
  auto found = range.second;
  for (auto it = range.first; it != range.second; ++it) {
    if (drop.object != ast::ObjectKind::kRoutine &&
        it->second->procedure != (drop.object == ast::ObjectKind::kProcedure))
      continue;
    std::vector<SqlType> all, inputs;
    for (const auto& p : it->second->parameters) {
      all.push_back(make_type(p.type.id));
      if (p.mode != ParameterMode::kOut) inputs.push_back(make_type(p.type.id));
    }
    std::vector<SqlType> given;
    for (const auto& type : wanted) given.push_back(make_type(type.id));
    if (object.has_arguments && given != all && given != inputs) continue;
    if (found != range.second) return error("42725", absl::StrCat("function name \"", name, "\" is not unique"), -1);
    found = it;
  }
  if (found == range.second) {
    const char* kind = drop.object == ast::ObjectKind::kProcedure ? "procedure" : "function";
    std::string shown = name;
    if (object.has_arguments) {
      std::string types;
      for (const auto& type : wanted) absl::StrAppend(&types, types.empty() ? "" : ", ", type_name(make_type(type.id)));
      shown = absl::StrCat(name, "(", types, ")");
    }
    if (drop.if_exists) {
      result->notices.push_back(
          absl::StrCat("NOTICE:  ", kind, " ", shown, object.has_arguments ? "" : "()", " does not exist, skipping"));
      return absl::OkStatus();
    }
    if (!object.has_arguments)
      return error("42883", absl::StrCat("could not find a ", kind, " named \"", name, "\""), -1);
    return error("42883", absl::StrCat(kind, " ", shown, " does not exist"), -1);
  }
  next().routines.erase(found);
  return absl::OkStatus();
}

}  // namespace scyper::query
