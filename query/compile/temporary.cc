#include "compile/temporary.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/search_path.h"
#include "parse/name_path.h"
#include "query/search_path.h"
#include "query/settings.h"
#include "storage/temporary.h"

namespace scyper::query {

namespace {

// What a definition is about, by the names of its tables.
void collect_targets(const ast::Statement& statement, std::vector<std::string>* keys) {
  using Kind = ast::StatementKind;
  switch (statement.kind) {
    case Kind::kCreateTable:
      return keys->push_back(ast::node_as<ast::CreateTableStatement>(statement).table.name.back());
    case Kind::kCreateTableAs:
      return keys->push_back(ast::node_as<ast::CreateTableAsStatement>(statement).table.name.back());
    case Kind::kCreateView:
      return keys->push_back(ast::node_as<ast::CreateViewStatement>(statement).view.name.back());
    case Kind::kCreateIndex:
      return keys->push_back(ast::node_as<ast::CreateIndexStatement>(statement).table.name.back());
    case Kind::kCreateSequence:
      return keys->push_back(ast::node_as<ast::CreateSequenceStatement>(statement).sequence.name.back());
    case Kind::kCreateTrigger:
      return keys->push_back(ast::node_as<ast::CreateTriggerStatement>(statement).table.name.back());
    case Kind::kAlterTable:
      return keys->push_back(ast::node_as<ast::AlterTableStatement>(statement).table.name.back());
    case Kind::kRename:
      return keys->push_back(ast::node_as<ast::RenameStatement>(statement).target.name.front());
    case Kind::kComment:
      return keys->push_back(ast::node_as<ast::CommentStatement>(statement).target.name.front());
    case Kind::kDrop: {
      const auto& drop = ast::node_as<ast::DropStatement>(statement);
      const bool is_member = drop.object == ast::ObjectKind::kTrigger;
      for (const auto& object : drop.objects) keys->push_back(is_member ? object.name.front() : object.name.back());
      return;
    }
    case Kind::kRefresh:
      return keys->push_back(ast::node_as<ast::RefreshStatement>(statement).view.name.back());
    case Kind::kTruncate:
      for (const auto& table : ast::node_as<ast::TruncateStatement>(statement).tables)
        keys->push_back(table.name.back());
      return;
    case Kind::kAnalyze:
      for (const auto& target : ast::node_as<ast::AnalyzeStatement>(statement).targets)
        keys->push_back(target.table.name.back());
      return;
    default:
      return;
  }
}

bool is_of_transaction(const std::string& key) { return schema_of(key) == kTransactionSchema; }

// Drops the views of some keys, and those that read tables or views that are gone.
void drop_views(const std::function<bool(const std::string&)>& goes, Catalog* catalog) {
  const auto is_gone = [&](const std::string& name) {
    return is_temporary_key(name) && catalog->find_table(name) == nullptr && !catalog->has_view(name) &&
           catalog->sequences.count(name) == 0;
  };
  const auto is_broken = [&](const auto& entry) {
    const std::vector<std::string>& read = entry.second->relations;
    const bool lacks = is_temporary_key(entry.first) && std::any_of(read.begin(), read.end(), is_gone);
    if (!lacks && !goes(entry.first)) return false;
    std::erase_if(catalog->triggers, [&](const auto& trigger) { return trigger.first.first == entry.first; });
    return true;
  };
  while (std::erase_if(catalog->views, is_broken) != 0) {
  }
}

// Drops the tables and views of some keys with all that is theirs. Nothing permanent refers to them.
void drop_tables(const std::function<bool(const std::string&)>& goes, Catalog* catalog) {
  std::erase_if(catalog->tables, [&](const auto& entry) {
    if (!goes(entry.first)) return false;
    catalog->rules.erase(entry.second->schema().id);
    for (const auto& index : entry.second->schema().indexes) catalog->index_tables.erase(index.name);
    return true;
  });
  std::erase_if(catalog->sequences, [&](const auto& entry) { return goes(entry.first); });
  drop_views(goes, catalog);
  std::erase_if(catalog->triggers, [&](const auto& entry) { return goes(entry.first.first); });
  std::erase_if(catalog->comments, [&](const auto& entry) {  // "table t", "column t.a"
    const std::string key = entry.first.substr(std::min(entry.first.find(' ') + 1, entry.first.size()));
    return goes(key);
  });
}

}  // namespace

bool loses_rows_at_commit(std::string_view key) {
  return is_temporary_key(key) && schema_of(key).ends_with(kDeletesRowsSuffix);
}

uint32_t next_temporary_id() {
  static std::atomic<uint32_t> next{storage::kFirstTemporaryId};
  const uint32_t id = next.fetch_add(1);
  CHECK(id >= storage::kFirstTemporaryId);  // 3 * 2^30 of them
  return id;
}

std::string session_temporary_schema() {
  const StatementSettings* settings = StatementSettings::current;
  const std::string* schema = settings == nullptr ? nullptr : settings->find(std::string(kTemporarySchemaSetting));
  return schema == nullptr ? "" : *schema;
}

std::vector<std::string> with_temporary(const std::vector<std::string>& schemas, const Catalog& catalog,
                                        const std::string& session_schema) {
  const auto first = catalog.namespaces.lower_bound("pg_temp_");
  if (first == catalog.namespaces.end() || !is_temporary_schema(*first)) return schemas;
  const std::string candidates[] = {std::string(kTransactionSchema), session_schema,
                                    session_schema + std::string(kDeletesRowsSuffix)};
  std::vector<std::string> path;
  for (const std::string& schema : candidates) {
    const bool is_there = !schema.empty() && catalog.namespaces.count(schema) != 0;
    if (is_there && std::find(schemas.begin(), schemas.end(), schema) == schemas.end()) path.push_back(schema);
  }
  if (path.empty()) return schemas;
  if (schemas.empty()) path.emplace_back(kPublicSchema);
  path.insert(path.end(), schemas.begin(), schemas.end());
  return path;
}

namespace {
// A view that reads what is temporary is temporary, too.
Status make_view_temporary(const Catalog& catalog, std::string_view sql, ParsedDefinition* parsed) {
  if (parsed->is_temporary || parsed->statement->kind != ast::StatementKind::kCreateView) return Status();
  if (std::none_of(parsed->search_path.begin(), parsed->search_path.end(), is_temporary_schema)) return Status();
  auto& create = static_cast<ast::CreateViewStatement&>(*parsed->statement);
  if (create.is_hot_data || create.query == nullptr) return Status();
  Binder binder(catalog, sql);
  if (!binder.bind_statement(*create.query, {}).ok()) return Status();  // the definition says what is wrong
  const auto& used = binder.used_relations();
  if (std::none_of(used.begin(), used.end(), [](const auto& key) { return is_temporary_key(key); })) return Status();
  if (schema_of(create.view.name.back()) != kPublicSchema)
    return sql_error("42P16", "cannot create temporary relation in non-temporary schema");
  create.view.name = {new_temporary_key(create.view.name.back(), ast::OnCommit::kPreserveRows)};
  create.persistence = ast::Persistence::kTemporary;
  create.becomes_temporary = parsed->is_temporary = true;
  parsed->is_of_transaction = is_of_transaction(create.view.name.back());
  return Status();
}
}  // namespace

StatusOr<ParsedDefinition> parse_definition(const Catalog& catalog, std::vector<std::string> search_path,
                                            std::string_view sql) {
  ParsedDefinition parsed;
  const TemporarySchemaScope session(session_temporary_schema());
  parsed.search_path = with_temporary(search_path, catalog, *TemporarySchemaScope::current);
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_in(catalog, parsed.search_path, sql));
  if (statements.size() != 1) return sql_error("42601", "cannot insert multiple commands into a prepared statement");
  parsed.statement = std::move(statements[0]);
  std::vector<std::string> keys;
  collect_targets(*parsed.statement, &keys);
  const auto count = std::count_if(keys.begin(), keys.end(), [](const auto& key) { return is_temporary_key(key); });
  if (count != 0 && count != static_cast<ptrdiff_t>(keys.size()))
    return sql_error("0A000", "one statement about temporary and other objects is not supported");
  parsed.is_temporary = count != 0;
  SCYPER_RETURN_IF_ERROR(make_view_temporary(catalog, sql, &parsed));
  if (parsed.is_temporary && count == 0) return parsed;
  parsed.is_of_transaction = count != 0 && std::all_of(keys.begin(), keys.end(), is_of_transaction);
  if (parsed.is_temporary || parsed.statement->kind == ast::StatementKind::kCreateTableAs) return parsed;
  const auto is_temporary = [](const std::string& schema) { return is_temporary_schema(schema); };
  if (std::none_of(parsed.search_path.begin(), parsed.search_path.end(), is_temporary)) return parsed;
  std::erase_if(parsed.search_path, is_temporary);
  SCYPER_ASSIGN_OR_RETURN(auto again, parse_in(catalog, parsed.search_path, sql));
  parsed.statement = std::move(again[0]);
  return parsed;
}

// What a statement of its own makes and no session keeps would be gone at once.
Status check_has_session(const ParsedDefinition& parsed) {
  const auto* create = ast::node_if<ast::CreateTableStatement>(parsed.statement.get());
  const auto* create_as = ast::node_if<ast::CreateTableAsStatement>(parsed.statement.get());
  const bool is_dropped = (create != nullptr && create->on_commit == ast::OnCommit::kDrop) ||
                          (create_as != nullptr && create_as->on_commit == ast::OnCommit::kDrop);
  const bool is_view = parsed.statement->kind == ast::StatementKind::kCreateView;
  if ((create == nullptr && create_as == nullptr && !is_view) || !parsed.is_of_transaction || is_dropped)
    return Status();
  return with_hint(sql_error("0A000", is_view ? "temporary views outside of sessions are not supported"
                                              : "temporary tables outside of sessions are not supported"),
                   "Connect by PostgreSQL's protocol, or make them in a routine or DO.");
}

bool has_rows_to_delete(const Catalog& catalog, const std::string& session_schema) {
  const std::string emptied = session_schema + std::string(kDeletesRowsSuffix);
  return std::any_of(catalog.tables.begin(), catalog.tables.end(), [&](const auto& entry) {
    return schema_of(entry.first) == emptied && entry.second->live_tuples() != 0;
  });
}

Status end_temporary_tables(const std::string& session_schema, uint32_t partitions, storage::Arena* arena,
                            Catalog* catalog) {
  drop_tables(is_of_transaction, catalog);
  const std::string emptied = session_schema + std::string(kDeletesRowsSuffix);
  for (auto& [name, table] : catalog->tables) {
    if (session_schema.empty() || schema_of(name) != emptied || table->live_tuples() == 0) continue;
    storage::TableSchema schema = table->schema();
    SCYPER_ASSIGN_OR_RETURN(auto empty, storage::Table::create(std::move(schema), partitions, arena));
    table = std::move(empty);
  }
  note_temporary_schemas(catalog);
  return Status();
}

void drop_temporary_tables(Catalog* catalog) {
  drop_tables([](const std::string& key) { return is_temporary_key(key); }, catalog);
  note_temporary_schemas(catalog);
}

void drop_session_tables(const std::string& session_schema, Catalog* catalog) {
  const std::string emptied = session_schema + std::string(kDeletesRowsSuffix);
  drop_tables([&](const std::string& key) { return schema_of(key) == session_schema || schema_of(key) == emptied; },
              catalog);
  note_temporary_schemas(catalog);
}

void note_temporary_schemas(Catalog* catalog) {
  std::erase_if(catalog->namespaces, is_temporary_schema);
  for (const auto& [name, table] : catalog->tables)
    if (is_temporary_key(name)) catalog->namespaces.insert(std::string(schema_of(name)));
  for (const auto& [name, view] : catalog->views)
    if (is_temporary_key(name)) catalog->namespaces.insert(std::string(schema_of(name)));
  for (const auto& [name, sequence] : catalog->sequences)
    if (is_temporary_key(name)) catalog->namespaces.insert(std::string(schema_of(name)));
}

}  // namespace scyper::query
