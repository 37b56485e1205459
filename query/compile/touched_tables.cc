#include "query/touched_tables.h"

#include <algorithm>
#include <set>

#include "compile/program_parts.h"
#include "compile/search_path.h"
#include "query/program_tables.h"
#include "query/search_path.h"
#include "storage/temporary.h"

namespace scyper::query {

namespace {

// Sorted, with the tables that foreign keys tie to them.
std::vector<TableId> with_referenced(std::set<TableId> own, const Catalog& catalog) {
  std::set<TableId> ids = own;
  for (const auto& [id, rules] : catalog.rules) {
    for (const ForeignKey& key : rules.foreign_keys) {
      if (own.contains(id)) ids.insert(key.table);
      if (own.contains(key.table)) ids.insert(id);
    }
  }
  return {ids.begin(), ids.end()};
}

// Reads or copies all rows of its table.
bool takes_long(const ast::AlterTableCommand& command) {
  switch (command.action) {
    case ast::AlterTableAction::kAddColumn:
    case ast::AlterTableAction::kAddConstraint:
    case ast::AlterTableAction::kDropColumn:
    case ast::AlterTableAction::kSetType:
    case ast::AlterTableAction::kSetNotNull:
    case ast::AlterTableAction::kDropNotNull:
    case ast::AlterTableAction::kDropConstraint:
    case ast::AlterTableAction::kValidateConstraint:
      return true;
    default:
      return false;
  }
}

// Tables that new foreign keys refer to: rows are looked up there.
void add_new_references(const ast::AlterTableStatement& alter, const Catalog& catalog, std::set<TableId>* ids) {
  auto add = [&](const ast::Constraint& constraint) {
    if (constraint.kind != ast::ConstraintKind::kForeignKey) return;
    if (const auto table = catalog.find_table(constraint.foreign_table.back()); table != nullptr)
      ids->insert(table->schema().id);
  };
  for (const ast::AlterTableCommand& command : alter.commands) {
    if (command.constraint != nullptr) add(*command.constraint);
    if (command.column != nullptr)
      std::for_each(command.column->constraints.begin(), command.column->constraints.end(), add);
  }
}

// Of a new name for a table, or for a part of one.
std::string renamed_table(const ast::RenameStatement& rename, const Catalog& catalog) {
  switch (rename.object) {
    case ast::ObjectKind::kTable:
    case ast::ObjectKind::kColumn:
    case ast::ObjectKind::kConstraint:
    case ast::ObjectKind::kIndex:
      break;
    default:
      return "";
  }
  const std::string& name = rename.target.name.back();
  const auto index = catalog.index_tables.find(name);
  return index != catalog.index_tables.end() ? index->second : name;
}

// Whose rows the definition reads or copies; empty: none's. others: tables that it reads beside.
std::string table_made_anew(const ast::Statement& statement, const Catalog& catalog, std::set<TableId>* others) {
  if (const auto* alter = ast::node_if<ast::AlterTableStatement>(&statement); alter != nullptr) {
    if (std::none_of(alter->commands.begin(), alter->commands.end(), takes_long)) return "";
    add_new_references(*alter, catalog, others);
    return alter->table.name.back();
  }
  if (const auto* create = ast::node_if<ast::CreateIndexStatement>(&statement); create != nullptr)
    return create->table.name.back();
  const auto* rename = ast::node_if<ast::RenameStatement>(&statement);
  return rename == nullptr ? "" : renamed_table(*rename, catalog);
}

}  // namespace

bool TouchedTables::contains(TableId id) const { return std::binary_search(ids.begin(), ids.end(), id); }

bool TouchedTables::meets(const TouchedTables& other) const {
  if (may_be_any || other.may_be_any) return true;
  return std::any_of(ids.begin(), ids.end(), [&](TableId id) { return other.contains(id); });
}

TouchedTables touched_tables(const Program& program, const Catalog& catalog) {
  TouchedTables touched;
  std::vector<const storage::Table*> tables;
  touched.may_be_any = !add_tables(program, &tables);
  std::set<TableId> own;
  for (const storage::Table* table : tables) own.insert(table->schema().id);
  touched.ids = with_referenced(std::move(own), catalog);
  return touched;
}

std::optional<TouchedTables> tables_made_anew(std::string_view text, const Catalog& catalog) {
  std::vector<std::string> search_path;
  const std::string_view sql = take_search_path(text, &search_path);
  const auto statements = parse_in(catalog, search_path, sql);
  if (!statements.ok() || statements->size() != 1) return std::nullopt;
  std::set<TableId> ids;
  const std::string name = table_made_anew(*(*statements)[0], catalog, &ids);
  const auto table = name.empty() ? nullptr : catalog.find_table(name);
  if (table == nullptr || storage::is_temporary(table->schema().id)) return std::nullopt;
  TouchedTables touched;
  ids.insert(table->schema().id);
  touched.ids = with_referenced(std::move(ids), catalog);
  return touched;
}

}  // namespace scyper::query
