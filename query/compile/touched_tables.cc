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

bool refers(const ast::Constraint& constraint) { return constraint.kind == ast::ConstraintKind::kForeignKey; }

// What it finds out about the table's rows does not depend on another's.
bool looks_at_one_table(const ast::AlterTableCommand& command) {
  switch (command.action) {
    case ast::AlterTableAction::kAddColumn:
      return std::none_of(command.column->constraints.begin(), command.column->constraints.end(), refers);
    case ast::AlterTableAction::kAddConstraint:
      return !refers(*command.constraint);
    case ast::AlterTableAction::kDropColumn:
    case ast::AlterTableAction::kSetType:
    case ast::AlterTableAction::kDropConstraint:
      return true;
    default:
      return false;
  }
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
  const ast::Name* name = nullptr;
  if (const auto* alter = ast::node_if<ast::AlterTableStatement>((*statements)[0].get()); alter != nullptr) {
    if (!std::all_of(alter->commands.begin(), alter->commands.end(), looks_at_one_table)) return std::nullopt;
    name = &alter->table.name;
  } else if (const auto* create = ast::node_if<ast::CreateIndexStatement>((*statements)[0].get()); create != nullptr) {
    name = &create->table.name;
  }
  const auto table = name == nullptr ? nullptr : catalog.find_table(name->back());
  if (table == nullptr || storage::is_temporary(table->schema().id)) return std::nullopt;
  TouchedTables touched;
  touched.ids = with_referenced({table->schema().id}, catalog);
  return touched;
}

}  // namespace scyper::query
