#include "compile/statement_kind.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "plan/explain_options.h"

namespace scyper::query {

bool is_analysis(const ast::Statement& statement) {
  const auto* explain = ast::node_if<ast::ExplainStatement>(&statement);
  if (explain == nullptr) return false;
  StatusOr<ExplainOptions> options = ExplainOptions::read(explain->options);
  return options.ok() && options->analyze && !options->compiled;
}

bool runs_dynamically(ast::StatementKind kind) {
  using Kind = ast::StatementKind;
  return kind == Kind::kSelect || kind == Kind::kInsert || kind == Kind::kUpdate || kind == Kind::kDelete ||
         kind == Kind::kMerge || kind == Kind::kCall;
}

bool changes_data(const ast::SelectStatement& select) {
  return std::any_of(select.with.tables.begin(), select.with.tables.end(),
                     [](const auto& table) { return table.statement->kind != ast::StatementKind::kSelect; });
}

bool asks_for_rows(const ast::Statement& given) {
  const ast::Statement* statement = &given;
  if (is_analysis(*statement)) statement = ast::node_as<ast::ExplainStatement>(*statement).statement.get();
  if (const auto* copy = ast::node_if<ast::CopyStatement>(statement); copy != nullptr && !copy->from) {
    if (copy->has_table || !copy->file.empty()) return copy->file.empty();
    statement = copy->query.get();
  }
  if (const auto* select = ast::node_if<ast::SelectStatement>(statement))
    return !select->into && !changes_data(*select);
  return statement->kind == ast::StatementKind::kExplain || statement->kind == ast::StatementKind::kShow;
}

Prepared::Kind kind_of(const ast::Statement& statement) {
  switch (statement.kind) {
    case ast::StatementKind::kSelect:
    case ast::StatementKind::kInsert:
    case ast::StatementKind::kUpdate:
    case ast::StatementKind::kDelete:
    case ast::StatementKind::kMerge:
    case ast::StatementKind::kCall:
    case ast::StatementKind::kDo:
    case ast::StatementKind::kUnsupported:  // that stands for something
      return Prepared::Kind::kProgram;
    case ast::StatementKind::kExplain:
      return is_analysis(statement) ? Prepared::Kind::kProgram : Prepared::Kind::kRows;
    case ast::StatementKind::kShow:
      return Prepared::Kind::kRows;
    case ast::StatementKind::kSet:
      return Prepared::Kind::kNothing;
    default:
      return Prepared::Kind::kDefinition;
  }
}

const char* refused_command(ast::StatementKind kind) {
  switch (kind) {
    case ast::StatementKind::kTransaction:
      return "an interactive transaction (BEGIN, COMMIT, ROLLBACK)";
    case ast::StatementKind::kPrepare:
      return "PREPARE";
    case ast::StatementKind::kExecute:
      return "EXECUTE";
    case ast::StatementKind::kDeallocate:
      return "DEALLOCATE";
    default:
      return nullptr;
  }
}

namespace {

// What does the same, of statements that PostgreSQL's users may have at hand.
struct Instead {
  std::string_view command, hint;
};
constexpr Instead kInstead[] = {
    {"CREATE RULE",
     "Use a trigger: INSTEAD OF on a view, BEFORE or AFTER on a table. Simple views can be changed without either."},
    {"ALTER RULE", "There are no rules; triggers do what they are for."},
    {"DROP RULE", "There are no rules; triggers do what they are for."},
    {"CREATE STATISTICS", "ANALYZE gathers statistics of single columns; the statement may be left out."},
    {"ALTER STATISTICS", "There are no extended statistics; the statement may be left out."},
    {"DROP STATISTICS", "There are no extended statistics; the statement may be left out."},
    {"ALTER EXTENSION", "What extensions have here is built in and has one version."},
    {"ALTER DEFAULT PRIVILEGES", "GRANT ... ON ALL TABLES IN SCHEMA gives rights on what is there."},
};

}  // namespace

Status refuse(const ast::UnsupportedStatement& statement, int position) {
  const Status status = sql_error("0A000", absl::StrCat(statement.command, " is not supported"), position);
  for (const Instead& known : kInstead)
    if (known.command == statement.command) return with_hint(status, known.hint);
  return status;
}

}  // namespace scyper::query
