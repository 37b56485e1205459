#include "compile/sql_routine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "parse/sql_parser.h"

namespace scyper::query {

namespace {

using ast::StatementKind;

bool has_returning(const ast::Statement& statement) {
  if (const auto* insert = ast::node_if<ast::InsertStatement>(&statement)) return !insert->returning.empty();
  if (const auto* update = ast::node_if<ast::UpdateStatement>(&statement)) return !update->returning.empty();
  if (const auto* remove = ast::node_if<ast::DeleteStatement>(&statement)) return !remove->returning.empty();
  return false;
}

Status wrong_result(const Routine& routine) {
  return with_detail(sql_error("42P13", absl::StrCat("return type mismatch in function declared to return ",
                                                     type_name(routine.return_type))),
                     "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.");
}

}  // namespace

StatusOr<std::string> plpgsql_of_sql(std::string_view body, const Routine& routine) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(body));
  bool has_result = routine.return_type.id != TypeId::kVoid || routine.procedure;
  if (routine.procedure)
    has_result = std::any_of(routine.parameters.begin(), routine.parameters.end(),
                             [](const auto& p) { return p.mode != ParameterMode::kIn; });
  if (has_result && statements.empty()) return wrong_result(routine);
  // a line break behind each statement ends a comment in it
  std::string out = "#variable_conflict use_column\nBEGIN\n";
  for (size_t i = 0; i < statements.size(); i++) {
    const ast::Statement& statement = *statements[i];
    size_t from = static_cast<size_t>(std::max(0, statement.location));
    size_t length = statement.length > 0 ? static_cast<size_t>(statement.length) : body.size() - from;
    std::string text(body.substr(from, length));
    while (!text.empty() && (text.back() == ';' || text.back() == ' ' || text.back() == '\n')) text.pop_back();
    bool gives_result = has_result && i + 1 == statements.size();
    bool is_query = statement.kind == StatementKind::kSelect;
    if (gives_result && !is_query && !has_returning(statement)) return wrong_result(routine);
    if (gives_result)
      absl::StrAppend(&out, "RETURN QUERY ", text, "\n;\n");
    else if (is_query)
      absl::StrAppend(&out, "PERFORM * FROM (", text, "\n) AS \"sql rows\";\n");
    else
      absl::StrAppend(&out, text, "\n;\n");
  }
  return out + "END";
}

}  // namespace scyper::query
