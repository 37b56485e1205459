#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compile/copy.h"
#include "compile/definition.h"
#include "compile/foreign_options.h"
#include "parse/type_resolver.h"
#include "query/domain.h"
#include "query/foreign_table.h"

// CREATE and DROP of foreign tables, their servers, and the extension that brings them. The files themselves are looked
// at by queries alone: a definition is replayed where they may not be.
namespace scyper::query {

namespace {

// Whose functions are there with it or without.
bool is_native_extension(std::string_view name) { return name == "pgcrypto" || name == "uuid-ossp"; }

Status already_exists(std::string_view kind, const std::string& name, bool skips, ResultSet* result) {
  const std::string message = absl::StrCat(std::string(kind), " \"", name, "\" already exists");
  if (!skips) return sql_error("42710", message);
  result->notices.push_back(absl::StrCat("NOTICE:  ", message, ", skipping"));
  return absl::OkStatus();
}

Status does_not_exist(std::string_view kind, const std::string& name, bool skips, ResultSet* result) {
  const std::string message = absl::StrCat(std::string(kind), " \"", name, "\" does not exist");
  if (!skips) return sql_error("42704", message);
  result->notices.push_back(absl::StrCat("NOTICE:  ", message, ", skipping"));
  return absl::OkStatus();
}

Status has_dependent(const std::string& what, const std::string& dependent, const std::string& of) {
  return with_hint(
      with_detail(sql_error("2BP01", absl::StrCat("cannot drop ", what, " because other objects depend on it")),
                  absl::StrCat(dependent, " depends on ", of)),
      "Use DROP ... CASCADE to drop the dependent objects too.");
}

}  // namespace

Status Definer::define_foreign(const ast::Statement& statement, ResultSet* result) {
  switch (statement.kind) {
    case ast::StatementKind::kCreateForeignTable:
      return create_foreign_table(ast::node_as<ast::CreateForeignTableStatement>(statement), result);
    case ast::StatementKind::kCreateForeignServer:
      return create_foreign_server(ast::node_as<ast::CreateForeignServerStatement>(statement), result);
    case ast::StatementKind::kCreateExtension:
      return create_extension(ast::node_as<ast::CreateExtensionStatement>(statement), result);
    default:
      return define_access(statement, result);
  }
}

namespace {
struct ExtensionHint {
  std::string_view name, hint;
};
constexpr ExtensionHint kExtensionHints[] = {
    {"pg_trgm", "LIKE, ILIKE and regular expressions work without it; its functions and indexes are not there."},
    {"citext", "Use text, lower(column) in comparisons, and a unique index on lower(column)."},
    {"hstore", "Use jsonb."},
    {"unaccent", "Use translate()."},
    {"ltree", "Use text with LIKE, or WITH RECURSIVE over a column that names the parent."},
    {"btree_gin", "Indexes of several columns need no extension."},
    {"btree_gist", "Indexes of several columns need no extension; EXCLUDE is not there."},
    {"postgres_fdw", "Use file_fdw, or COPY."},
    {"dblink", "Use file_fdw, or COPY."},
    {"tablefunc", "Use aggregates with FILTER, and WITH RECURSIVE."},
    {"pg_stat_statements", "Use the metrics of the node, and EXPLAIN ANALYZE."},
};

std::string_view hint_for_extension(std::string_view name) {
  for (const ExtensionHint& known : kExtensionHints)
    if (known.name == name) return known.hint;
  return "pg_available_extensions lists those that are there.";
}
}  // namespace

Status Definer::create_extension(const ast::CreateExtensionStatement& create, ResultSet* result) {
  result->command_tag = "CREATE EXTENSION";
  if (create.name == "plpgsql" || old_->extensions.count(create.name) != 0)
    return already_exists("extension", create.name, create.if_not_exists, result);
  if (create.name != kFileWrapper && !is_native_extension(create.name))
    return with_hint(error("0A000", absl::StrCat("extension \"", create.name, "\" is not available"), -1),
                     hint_for_extension(create.name));
  next().extensions.insert(create.name);
  return absl::OkStatus();
}

Status Definer::create_foreign_server(const ast::CreateForeignServerStatement& create, ResultSet* result) {
  result->command_tag = "CREATE SERVER";
  if (old_->foreign_servers.count(create.name) != 0)
    return already_exists("server", create.name, create.if_not_exists, result);
  if (create.wrapper != kFileWrapper || old_->extensions.count(kFileWrapper) == 0) {
    Status status = error("42704", absl::StrCat("foreign-data wrapper \"", create.wrapper, "\" does not exist"), -1);
    return create.wrapper == kFileWrapper ? with_hint(status, "CREATE EXTENSION file_fdw makes it.") : status;
  }
  if (!create.options.empty())
    return with_hint(error("HV00D", absl::StrCat("invalid option \"", create.options[0].name, "\""), -1),
                     "There are no valid options in this context.");
  next().foreign_servers.insert(create.name);
  return absl::OkStatus();
}

Status Definer::create_foreign_table(const ast::CreateForeignTableStatement& create, ResultSet* result) {
  result->command_tag = "CREATE FOREIGN TABLE";
  const ast::CreateTableStatement& table = create.table;
  const std::string& name = table.table.name.back();
  SCYPER_RETURN_IF_ERROR(check_schema(table.table.name, table.table.location));
  if (name_taken(name)) {
    const std::string message = absl::StrCat("relation \"", name, "\" already exists");
    if (!table.if_not_exists) return error("42P07", message, -1);
    result->notices.push_back(absl::StrCat("NOTICE:  ", message, ", skipping"));
    return absl::OkStatus();
  }
  if (old_->foreign_servers.count(create.server) == 0)
    return error("42704", absl::StrCat("server \"", create.server, "\" does not exist"), -1);
  for (const auto& constraint : table.constraints) SCYPER_RETURN_IF_ERROR(check_foreign_constraint(constraint));
  if (!table.likes.empty()) return error("0A000", "LIKE is not supported for creating foreign tables", -1);
  auto view = std::make_shared<View>();
  view->name = name;
  view->access.owner = actor().id;
  for (const auto& column : table.columns) SCYPER_RETURN_IF_ERROR(define_foreign_column(column, view.get()));
  std::vector<std::pair<std::string, std::string>> options;
  for (const auto& option : create.options) options.emplace_back(option.name, option.value);
  SCYPER_ASSIGN_OR_RETURN(view->foreign, make_foreign_table(create.server, std::move(options), *view));
  next().views[name] = std::move(view);
  return absl::OkStatus();
}

// What PostgreSQL assumes of foreign tables and never checks is refused, but for NOT NULL, which is not even assumed.
Status Definer::check_foreign_constraint(const ast::Constraint& constraint) const {
  switch (constraint.kind) {
    case ast::ConstraintKind::kNull:
    case ast::ConstraintKind::kNotNull:
      return absl::OkStatus();
    case ast::ConstraintKind::kPrimaryKey:
      return error("0A000", "primary key constraints are not supported on foreign tables", constraint.location);
    case ast::ConstraintKind::kUnique:
      return error("0A000", "unique constraints are not supported on foreign tables", constraint.location);
    case ast::ConstraintKind::kForeignKey:
      return error("0A000", "foreign key constraints are not supported on foreign tables", constraint.location);
    default:
      return error("0A000", "defaults and constraints of foreign tables are not supported", constraint.location);
  }
}

Status Definer::define_foreign_column(const ast::ColumnDefinition& column, View* view) {
  const auto& names = view->column_names;
  if (std::find(names.begin(), names.end(), column.name) != names.end())
    return error("42701", absl::StrCat("column \"", column.name, "\" specified more than once"), -1);
  if (names.size() >= 1600) return error("54011", "tables can have at most 1600 columns", -1);
  SCYPER_ASSIGN_OR_RETURN(SqlType type, resolve_type(column.type, text_, next().user_types()));
  SCYPER_RETURN_IF_ERROR(check_column_type(column, type));
  if (named_domain(column.type, next().user_types()) != nullptr)
    return error("0A000", "domains in foreign tables are not supported", column.location);
  for (const auto& constraint : column.constraints) SCYPER_RETURN_IF_ERROR(check_foreign_constraint(constraint));
  view->column_names.push_back(column.name);
  view->column_types.push_back(type);
  return absl::OkStatus();
}

Status Definer::drop_foreign_table(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  if (!next().has_foreign_table(name)) {
    const bool is_table = next().tables.count(name) != 0;
    if (is_table || next().has_view(name))
      return with_hint(error("42809", absl::StrCat("\"", name, "\" is not a foreign table"), -1),
                       absl::StrCat("Use DROP ", is_table ? "TABLE to remove a table." : "VIEW to remove a view."));
    return does_not_exist("foreign table", name, drop.if_exists, result);
  }
  SCYPER_RETURN_IF_ERROR(drop_dependents("foreign table", name, drop, result));
  next().views.erase(name);
  return absl::OkStatus();
}

Status Definer::drop_foreign_server(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  if (next().foreign_servers.count(name) == 0) return does_not_exist("server", name, drop.if_exists, result);
  std::vector<std::string> tables;
  for (const auto& [table, view] : next().views)
    if (view->foreign != nullptr && view->foreign->server == name) tables.push_back(table);
  for (const auto& table : tables) {
    if (!drop.cascade) return has_dependent("server " + name, "foreign table " + table, "server " + name);
    result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to foreign table ", table));
    SCYPER_RETURN_IF_ERROR(drop_foreign_table(table, drop, result));
  }
  next().foreign_servers.erase(name);
  return absl::OkStatus();
}

Status Definer::drop_extension(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  if (name == "plpgsql") return error("0A000", "DROP EXTENSION plpgsql is not supported", -1);
  if (next().extensions.count(name) == 0) return does_not_exist("extension", name, drop.if_exists, result);
  const auto servers = next().foreign_servers;
  for (const auto& server : servers) {
    if (name != kFileWrapper) break;
    if (!drop.cascade)
      return has_dependent("extension " + name, "server " + server,
                           "foreign-data wrapper " + std::string(kFileWrapper));
    result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to server ", server));
    SCYPER_RETURN_IF_ERROR(drop_foreign_server(server, drop, result));
  }
  next().extensions.erase(name);
  return absl::OkStatus();
}

}  // namespace scyper::query
