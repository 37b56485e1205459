#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/internal_error.h"
#include "bind/pl_binder.h"
#include "compile/compiler.h"
#include "compile/dynamic_text.h"
#include "compile/parameter_count.h"
#include "compile/search_path.h"
#include "compile/statement_kind.h"
#include "parse/printer.h"
#include "query/error_status.h"
#include "query/named_text.h"
#include "query/role_mark.h"
#include "query/search_path.h"
#include "query/settings.h"
#include "query/statement_weight.h"

// The programs of statements that EXECUTE of PL/pgSQL runs.
namespace scyper::query {

namespace {

constexpr size_t kDynamicProgramsMax = 256;
constexpr size_t kDynamicBytesMax = size_t{64} << 20;  // an estimate of the bytes of all kept programs

Status refused() { return sql_error("0A000", "statements that control something are not supported in EXECUTE"); }

// EXPLAIN that only plans its statement.
bool plans_only(const ExplainOptions& options) { return !options.analyze || options.compiled; }

std::string shown_setting_query(const ast::ShowStatement& show) {
  if (show.name == "all")
    return "SELECT name, setting, short_desc AS description FROM pg_catalog.pg_settings ORDER BY name";
  const Setting* setting = find_setting(show.name);
  return absl::StrCat("SELECT pg_catalog.current_setting(", quote_literal(show.name), ") AS ",
                      quote_identifier(setting == nullptr ? show.name : std::string(setting->name)));
}

std::string rows_query(std::string_view text, bool is_one_row) {
  std::string out = "SELECT * FROM (VALUES ";
  size_t from = 0;
  do {
    const size_t end = is_one_row ? text.size() : std::min(text.find('\n', from), text.size());
    absl::StrAppend(&out, from == 0 ? "" : ", ", "(", quote_literal(std::string(text.substr(from, end - from))),
                    "::pg_catalog.text)");
    from = end + 1;
  } while (from < text.size());
  return out + ") AS plan (\"QUERY PLAN\")";
}

// What a program is kept by: the text, the types of its parameters, and the transition tables it sees.
std::string key_of(std::string_view text, const std::vector<SqlType>& types) {
  std::string key(text);
  for (const SqlType& type : types) absl::StrAppend(&key, "\n", type_name(type));
  return key + transition_key();
}

}  // namespace

StatusOr<std::shared_ptr<const Program>> Compiler::dynamic_program(std::string_view text,
                                                                   const std::vector<SqlType>& types,
                                                                   std::shared_ptr<const Catalog> catalog) {
  return contained(Phase::kCompiling, without_search_path(text),
                   [&] { return find_dynamic_program(text, types, std::move(catalog)); });
}

StatusOr<std::string> Compiler::explained_query(std::string_view text, const ast::ExplainStatement& explain,
                                                const ExplainOptions& options, const std::vector<SqlType>& types,
                                                std::shared_ptr<const Catalog> catalog) {
  if (options.compiled) return refused();
  const size_t count = parameter_count(text);
  if (count > types.size()) return sql_error("42P02", absl::StrCat("there is no parameter $", types.size() + 1));
  const std::vector<SqlType> given(types.begin(), types.begin() + static_cast<ptrdiff_t>(count));
  auto plan = explain_plan(text, *explain.statement, count, std::move(catalog), options, given);
  if (!plan.ok()) return without_position(plan.status());
  return rows_query(*plan, options.json);
}

StatusOr<std::shared_ptr<const Program>> Compiler::stand_in(std::string_view text, const ast::Statement& statement,
                                                            const std::vector<std::string>& search_path,
                                                            const std::vector<SqlType>& types,
                                                            std::shared_ptr<const Catalog> catalog) {
  if (const auto* block = ast::node_if<ast::DoStatement>(&statement); block != nullptr) {
    if (!block->language.empty() && block->language != "plpgsql") return refused();
    return compile_block(with_search_path(search_path, block->body), std::move(catalog));
  }
  if (const auto* set = ast::node_if<ast::SetStatement>(&statement); set != nullptr) {
    if (set->action != ast::SetAction::kSet && set->action != ast::SetAction::kSetDefault &&
        set->action != ast::SetAction::kReset)
      return refused();
    // The line break ends a comment in the text.
    return compile_block(with_search_path(search_path, absl::StrCat("BEGIN ", std::string(text), "\n; END")),
                         std::move(catalog));
  }
  std::string query;
  if (const auto* show = ast::node_if<ast::ShowStatement>(&statement); show != nullptr)
    query = shown_setting_query(*show);
  if (const auto* explain = ast::node_if<ast::ExplainStatement>(&statement); explain != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(const ExplainOptions options, ExplainOptions::read(explain->options));
    if (!plans_only(options)) return std::shared_ptr<const Program>();
    SCYPER_ASSIGN_OR_RETURN(query, explained_query(text, *explain, options, types, catalog));
  }
  if (query.empty()) return std::shared_ptr<const Program>();
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(query));
  return compile_statement(query, *statements[0], 0, {}, std::move(catalog));
}

StatusOr<std::shared_ptr<const Program>> Compiler::find_dynamic_program(std::string_view given_text,
                                                                        const std::vector<SqlType>& types,
                                                                        std::shared_ptr<const Catalog> catalog) {
  std::vector<std::string> search_path, names;
  const std::string_view text = take_names(take_search_path(given_text, &search_path), &names);
  std::string key = key_of(given_text, types);
  auto routines = routines_of(*catalog);
  std::lock_guard<std::recursive_mutex> lock(routines->mutex);
  // the cached program does not hold the routines that own it; what is given out does
  auto with_routines = [&](const std::shared_ptr<const Program>& program) {
    auto both = std::make_shared<std::pair<std::shared_ptr<RoutinePrograms>, std::shared_ptr<const Program>>>(routines,
                                                                                                              program);
    return std::shared_ptr<const Program>(both, program.get());
  };
  if (auto found = routines->dynamic.find(key); found != routines->dynamic.end()) return with_routines(found->second);
  const storage::SchemaScope as_of(&catalog->schemas);
  const SearchPath path(*catalog, search_path);
  const SessionPathScope session(&search_path);
  SCYPER_ASSIGN_OR_RETURN(const SessionRoles session_roles, roles_in(catalog->roles, given_text));
  const RoleScope roles(&session_roles);
  auto parse = [&] {
    const NamePathScope names(path.get());
    return parse_sql(text);
  };
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse());
  if (statements.empty()) return sql_error("0A000", "an empty statement in EXECUTE is not supported");
  if (statements.size() > 1) return sql_error("0A000", "several statements in one EXECUTE are not supported");
  const ast::Statement* statement = statements[0].get();
  if (statement->kind == ast::StatementKind::kTruncate)
    return compile_block(
        with_search_path(search_path, truncate_block(ast::node_as<ast::TruncateStatement>(*statement))), catalog);
  if (const auto* other = ast::node_if<ast::UnsupportedStatement>(statement);
      other != nullptr && !other->stands_for.empty())
    return compile_block(with_search_path(search_path, absl::StrCat("BEGIN PERFORM ", other->stands_for, "; END")),
                         catalog, "DO", TextOf::kSystem);
  if (PlBinder::is_definition(statement->kind)) return std::shared_ptr<const Program>();
  SCYPER_ASSIGN_OR_RETURN(auto other, stand_in(text, *statement, search_path, types, catalog));
  if (other != nullptr) return other;
  std::optional<ExplainOptions> analysed;
  if (const auto* explain = ast::node_if<ast::ExplainStatement>(statement); explain != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(analysed, ExplainOptions::read(explain->options));
    statement = explain->statement.get();
  }
  if (!runs_dynamically(statement->kind) || (analysed && statement->kind == ast::StatementKind::kCall))
    return refused();
  SCYPER_ASSIGN_OR_RETURN(auto program, make_dynamic_program(text, *statement, names, types, catalog, routines,
                                                             analysed ? &*analysed : nullptr));
  size_t bytes = statement_weight(key);
  for (const auto& [known, kept] : routines->dynamic) bytes += statement_weight(known);
  if (routines->dynamic.size() >= kDynamicProgramsMax || bytes > kDynamicBytesMax) routines->dynamic.clear();
  routines->dynamic.emplace(std::move(key), program);
  return with_routines(program);
}

StatusOr<std::shared_ptr<Program>> Compiler::make_dynamic_program(
    std::string_view text, const ast::Statement& statement, const std::vector<std::string>& names,
    const std::vector<SqlType>& types, const std::shared_ptr<const Catalog>& catalog,
    const std::shared_ptr<RoutinePrograms>& routines, const ExplainOptions* analysed) {
  size_t count = names.empty() ? parameter_count(text) : names.size();
  std::vector<SqlType> given = types;
  if (count > given.size()) return sql_error("42P02", absl::StrCat("there is no parameter $", given.size() + 1));
  given.resize(count);
  add_transition_types(&given);
  count = given.size();
  auto program = make_program(text, statement, count, given, catalog, routines, analysed, names);
  if (!program.ok() && !names.empty() && sqlstate_of(program.status()) == "42P18") {  // nothing says more than text
    for (SqlType& type : given)
      if (type.id == TypeId::kUnknown) type = make_type(TypeId::kText);
    program = make_program(text, statement, count, given, catalog, routines, analysed, names);
  }
  if (!program.ok()) return without_position(program.status());
  return program;
}

}  // namespace scyper::query
