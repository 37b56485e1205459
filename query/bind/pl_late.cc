#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/make.h"
#include "bind/pl_binder.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "parse/sql_parser.h"
#include "query/named_text.h"

// Definitions in routines, and statements that are planned when they run: those of routines that define something, and
// those that do not fit the catalog when the routine is compiled. Such a statement is dynamic SQL whose arguments are
// the variables that it names.
namespace scyper::query {

using plpgsql::StatementKind;

NamedParameters::NamedParameters(const std::vector<std::string>& names) {
  for (uint32_t i = 0; i < names.size(); i++) {
    const size_t dot = names[i].find('\n');
    if (dot == std::string::npos) {
      scope_.variables[names[i]] = i;
      continue;
    }
    VariableScope::Record*& record = scope_.records[names[i].substr(0, dot)];
    if (record == nullptr) {
      records_.push_back(std::make_unique<VariableScope::Record>());
      record = records_.back().get();
      record->assigned = record->fixed = true;
    }
    record->names.push_back(names[i].substr(dot + 1));
    record->variables.push_back(i);
  }
}

void PlBinder::name_parameters(const NamedParameters& names, Binder* binder) {
  if (!names.empty()) binder->variables_ = &names.scope_;
}

namespace {

bool is_name(const Token& token) {
  return token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedIdentifier;
}

// Names a text may refer to variables by: single ones, and pairs with a dot between, joined by a line's end.
std::vector<std::string> names_in(std::string_view sql) {
  auto tokens = scan(sql);
  std::vector<std::string> names;
  if (!tokens.ok()) return names;
  const auto& all = *tokens;
  for (size_t i = 0; i < all.size(); i++) {
    if (all[i].kind == TokenKind::kParameter) names.emplace_back(all[i].text);
    if (!is_name(all[i])) continue;
    names.push_back(value_of(all[i]));
    if (i + 2 < all.size() && all[i + 1].text == "." && is_name(all[i + 2]))
      names.push_back(absl::StrCat(value_of(all[i]), "\n", value_of(all[i + 2])));
  }
  return names;
}

// The statement that begins there.
std::string text_from(std::string_view body, int32_t begin) {
  const std::string_view rest = body.substr(static_cast<size_t>(begin));
  auto tokens = scan(rest);
  if (!tokens.ok()) return std::string(rest);
  for (const Token& token : *tokens)
    if (token.text == ";" && token.kind == TokenKind::kOperator)
      return std::string(rest.substr(0, static_cast<size_t>(token.begin)));
  return std::string(rest);
}

}  // namespace

// The step runs `sql`; its arguments are the variables that `sql` may name.
Status PlBinder::bind_late_text(std::string_view sql, Step* step) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  auto pass = [&](const std::string& name, uint32_t variable) {
    if (!seen.insert(name).second) return;
    const Variable& v = binder_.program_->variables[variable];
    BoundPtr value = make_variable(variable, v.type, true, -1);
    if (v.name == kLooseField) value->type = make_type(TypeId::kUnknown);
    names.push_back(name);
    step->args.push_back(std::move(value));
  };
  for (const std::string& name : names_in(sql)) {
    const size_t dot = name.find('\n');
    const bool is_pair = dot != std::string::npos;
    const ast::Name parts = is_pair ? ast::Name{name.substr(0, dot), name.substr(dot + 1)} : ast::Name{name};
    if (Record* record = find_record({parts[0]}); record != nullptr && record->loose == nullptr) {
      for (size_t i = 0; i < record->names.size(); i++)
        pass(absl::StrCat(parts[0], "\n", record->names[i]), record->variables[i]);
      continue;
    }
    uint32_t variable = 0;
    if (binder_.find_variable(parts, &variable)) pass(name, variable);
  }
  const SqlType text = make_type(TypeId::kText);
  step->expr = make_text_constant(text, with_names(names, sql), -1);
  BoundProgram& program = *binder_.program_;
  program.is_dynamic = program.writes = program.writes_shared = program.volatile_result = true;
  return absl::OkStatus();
}

bool PlBinder::is_definition(ast::StatementKind kind) {
  using Kind = ast::StatementKind;
  switch (kind) {
    case Kind::kCreateTable:
    case Kind::kCreateTableAs:
    case Kind::kCreateIndex:
    case Kind::kCreateView:
    case Kind::kCreateForeignTable:
    case Kind::kCreateForeignServer:
    case Kind::kCreateExtension:
    case Kind::kCreateSchema:
    case Kind::kCreateSequence:
    case Kind::kCreateEnum:
    case Kind::kAlterEnum:
    case Kind::kCreateDomain:
    case Kind::kAlterDomain:
    case Kind::kCreateRole:
    case Kind::kAlterRole:
    case Kind::kDropRole:
    case Kind::kGrantRole:
    case Kind::kGrant:
    case Kind::kOwner:
    case Kind::kAlterSettings:
    case Kind::kCreateRoutine:
    case Kind::kAlterRoutine:
    case Kind::kCreateTrigger:
    case Kind::kAlterTable:
    case Kind::kRename:
    case Kind::kRefresh:
    case Kind::kDrop:
    case Kind::kComment:
      return true;
    default:
      return false;
  }
}

bool PlBinder::defines(const plpgsql::Statements& statements) {
  for (const auto& statement : statements)
    if (defines(*statement)) return true;
  return false;
}

bool PlBinder::defines(const plpgsql::Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kSql:
      return is_definition(ast::node_as<plpgsql::Sql>(statement).statement->kind);
    case StatementKind::kBlock: {
      const auto& block = ast::node_as<plpgsql::Block>(statement);
      for (const auto& handler : block.handlers)
        if (defines(handler.body)) return true;
      return defines(block.body);
    }
    case StatementKind::kIf: {
      const auto& choice = ast::node_as<plpgsql::If>(statement);
      for (const auto& branch : choice.branches)
        if (defines(branch.body)) return true;
      return defines(choice.otherwise);
    }
    case StatementKind::kCase: {
      const auto& choice = ast::node_as<plpgsql::Case>(statement);
      for (const auto& branch : choice.branches)
        if (defines(branch.body)) return true;
      return defines(choice.otherwise);
    }
    case StatementKind::kLoop:
      return defines(ast::node_as<plpgsql::Loop>(statement).body);
    case StatementKind::kWhile:
      return defines(ast::node_as<plpgsql::While>(statement).body);
    case StatementKind::kForInteger:
      return defines(ast::node_as<plpgsql::ForInteger>(statement).body);
    case StatementKind::kForQuery:
      return defines(ast::node_as<plpgsql::ForQuery>(statement).body);
    case StatementKind::kForCursor:
      return defines(ast::node_as<plpgsql::ForCursor>(statement).body);
    case StatementKind::kForExecute:
      return defines(ast::node_as<plpgsql::ForExecute>(statement).body);
    case StatementKind::kForEach:
      return defines(ast::node_as<plpgsql::ForEach>(statement).body);
    default:
      return false;
  }
}

Status PlBinder::bind_definition(const plpgsql::Sql& statement, StepList* out) {
  if (!statement.into.targets.empty())
    return binder_.error("42601", "INTO used with a command that cannot return data", statement.into.location);
  auto step = new_step(StepKind::kExecute, statement);
  step->tells = Tells::kOneRow;  // ROW_COUNT: those of CREATE TABLE AS
  note_made(*statement.statement);
  const std::string text = text_from(binder_.source_, statement.location);
  if (statement.statement->kind == ast::StatementKind::kCreateTableAs) {
    SCYPER_RETURN_IF_ERROR(bind_late_text(text, step.get()));
  } else {
    SCYPER_RETURN_IF_ERROR(bind_late_text("", step.get()));
    step->expr = make_text_constant(make_type(TypeId::kText), text, -1);
  }
  out->push_back(std::move(step));
  return absl::OkStatus();
}

// While a routine is compiled, what it makes is not there: a query that reads it has the shape that it has with a WITH
// in its place.
void PlBinder::note_made(const ast::Statement& statement) {
  std::string name, query, columns;
  if (const auto* create = ast::node_if<ast::CreateTableStatement>(&statement)) {
    if (!create->likes.empty() || create->columns.empty() || create->is_composite) return;
    name = std::string(bare_name(create->table.name.back()));
    for (const auto& column : create->columns) {
      const std::string& type = column.type.name.back();
      const std::string written = type == "serial"        ? "int4"
                                  : type == "bigserial"   ? "int8"
                                  : type == "smallserial" ? "int2"
                                                          : to_sql(column.type);
      absl::StrAppend(&query, query.empty() ? "SELECT " : ", ", "CAST(NULL AS ", written, ") AS ",
                      quote_identifier(column.name));
    }
  } else if (const auto* create_as = ast::node_if<ast::CreateTableAsStatement>(&statement)) {
    if (create_as->query->kind != ast::StatementKind::kSelect) return;
    name = std::string(bare_name(create_as->table.name.back()));
    for (const std::string& column : create_as->columns)
      absl::StrAppend(&columns, columns.empty() ? " (" : ", ", quote_identifier(column));
    if (!columns.empty()) columns += ")";
    query = to_sql(*create_as->query);
  } else {
    return;
  }
  std::erase_if(made_, [&](const auto& other) { return other.first == name; });
  made_.emplace_back(name, absl::StrCat(quote_identifier(name), columns, " AS (", query, ")"));
}

// Null: it does not fit.
std::unique_ptr<BoundQuery> PlBinder::late_shape(const ast::SelectStatement& select) {
  std::string with;
  for (const auto& [name, text] : made_) absl::StrAppend(&with, with.empty() ? "WITH " : ", ", text);
  const std::string sql = to_sql(select);
  std::vector<ast::StatementPtr> parsed;
  if (!with.empty() && !select.with.recursive) {
    const bool has_own = absl::StartsWith(sql, "WITH ");
    const std::string text =
        absl::StrCat(with, has_own ? ", " : " ", has_own ? sql.substr(std::string("WITH ").size()) : sql);
    if (auto statements = parse_sql(text); statements.ok()) parsed = *std::move(statements);
  }
  VariableScope* scope = scope_;
  const ast::SelectStatement* tries[] = {
      parsed.size() == 1 ? ast::node_if<ast::SelectStatement>(parsed[0].get()) : nullptr, &select};
  for (const ast::SelectStatement* one : tries) {
    if (one == nullptr) continue;
    if (auto bound = binder_.bind_select(*one, nullptr); bound.ok()) return *std::move(bound);
    forget_failed(scope);
  }
  return nullptr;
}

// Where the statement fits the catalog as it is, a record takes its shape from it, else from what it gives when it
// runs.
Status PlBinder::late_targets(const plpgsql::Statement& statement, const std::vector<plpgsql::Target>& targets,
                              Step* step) {
  if (targets.empty()) return absl::OkStatus();
  Record* record = targets.size() == 1 ? find_record(targets[0].name) : nullptr;
  if (record == nullptr || record->fixed) return bind_loose_targets(targets, &step->into);
  const size_t callees = binder_.program_->callees.size();
  std::unique_ptr<BoundQuery> query;
  const ast::Statement* sql = nullptr;
  if (const auto* plain = ast::node_if<plpgsql::Sql>(&statement)) sql = plain->statement.get();
  if (const auto* loop = ast::node_if<plpgsql::ForQuery>(&statement)) sql = loop->query.get();
  if (sql != nullptr && sql->kind == ast::StatementKind::kSelect)
    query = late_shape(ast::node_as<ast::SelectStatement>(*sql));
  binder_.program_->callees.resize(callees);
  return query == nullptr ? bind_loose_targets(targets, &step->into)
                          : bind_targets(targets, query->outputs, &step->into);
}

StatusOr<bool> PlBinder::bind_late_sql(const plpgsql::Sql& statement, StepList* out) {
  using Kind = ast::StatementKind;
  const Kind kind = statement.statement->kind;
  if (kind != Kind::kSelect && kind != Kind::kInsert && kind != Kind::kUpdate && kind != Kind::kDelete &&
      kind != Kind::kMerge)
    return false;
  if (kind == Kind::kSelect && statement.into.targets.empty()) return false;
  auto step = new_step(StepKind::kExecute, statement);
  SCYPER_RETURN_IF_ERROR(bind_late_text(to_sql(*statement.statement), step.get()));
  SCYPER_RETURN_IF_ERROR(late_targets(statement, statement.into.targets, step.get()));
  step->into.strict = statement.into.strict;
  out->push_back(std::move(step));
  return true;
}

StatusOr<bool> PlBinder::bind_late_loop(const plpgsql::ForQuery& loop, StepList* out) {
  auto step = new_step(StepKind::kForRows, loop);
  SCYPER_RETURN_IF_ERROR(bind_late_text(to_sql(*loop.query), step.get()));
  SCYPER_RETURN_IF_ERROR(late_targets(loop, loop.targets, step.get()));
  SCYPER_RETURN_IF_ERROR(bind_loop_body(loop.label, loop.body, std::move(step), out));
  return true;
}

StatusOr<bool> PlBinder::bind_late(const plpgsql::Statement& statement, StepList* out) {
  if (routine_.is_sql) return false;
  if (const auto* sql = ast::node_if<plpgsql::Sql>(&statement)) return bind_late_sql(*sql, out);
  if (const auto* loop = ast::node_if<plpgsql::ForQuery>(&statement)) return bind_late_loop(*loop, out);
  if (const auto* perform = ast::node_if<plpgsql::Perform>(&statement)) {
    auto step = new_step(StepKind::kExecute, statement);
    SCYPER_RETURN_IF_ERROR(bind_late_text(to_sql(*perform->query), step.get()));
    out->push_back(std::move(step));
    return true;
  }
  if (const auto* rows = ast::node_if<plpgsql::ReturnQuery>(&statement);
      rows != nullptr && rows->query != nullptr && routine_.returns_set) {
    auto step = new_step(StepKind::kReturnQuery, statement);
    SCYPER_RETURN_IF_ERROR(bind_late_text(to_sql(*rows->query), step.get()));
    out->push_back(std::move(step));
    return true;
  }
  return false;
}

namespace {
bool reads_catalog(const BoundExpr& expr) {
  if (expr.query != nullptr || expr.routine != nullptr) return true;
  return std::any_of(expr.args.begin(), expr.args.end(), [](const BoundPtr& arg) { return reads_catalog(*arg); });
}
}  // namespace

StatusOr<BoundPtr> PlBinder::late_value(const ast::Expr& expr, const SqlType* type) {
  auto step = std::make_unique<Step>();
  step->kind = StepKind::kExecute;
  step->location = expr.location;
  step->tells = Tells::kNothing;
  SCYPER_RETURN_IF_ERROR(bind_late_text(absl::StrCat("SELECT ", to_sql(expr)), step.get()));
  step->into.present = true;
  const uint32_t variable = binder_.new_variable("", type == nullptr ? make_type(TypeId::kText) : *type);
  step->into.variables.push_back(variable);
  before_->push_back(std::move(step));
  return make_variable(variable, binder_.program_->variables[variable].type, true, expr.location);
}

// An expression; type: what it is to become, null: whatever it is.
StatusOr<BoundPtr> PlBinder::value_of(const ast::Expr& expr, const SqlType* type) {
  binder_.aggregate_clause_ = "this context";
  if (!is_late_ || before_ == nullptr) return binder_.bind(expr, nullptr);
  const size_t callees = binder_.program_->callees.size();
  VariableScope* scope = scope_;
  auto bound = binder_.bind(expr, nullptr);
  if (bound.ok() && (!reads_catalog(**bound) || (*bound)->kind == BoundKind::kRow)) return bound;
  binder_.program_->callees.resize(callees);
  if (!bound.ok()) {
    if (sqlstate_of(bound.status()).substr(0, 2) != "42") return bound;
    forget_failed(scope);
    return late_value(expr, type);
  }
  const SqlType own = (*bound)->type;
  return late_value(expr, own.id == TypeId::kUnknown ? type : &own);
}

}  // namespace scyper::query
