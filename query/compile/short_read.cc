#include "compile/short_read.h"

#include <algorithm>
#include <string_view>

namespace scyper::query {
namespace {

constexpr int kTablesMax = 6;

bool is_system_name(const ast::Name& name) {
  const std::string_view schema = name.size() > 1 ? std::string_view(name[name.size() - 2]) : std::string_view();
  return schema == "pg_catalog" || schema == "information_schema" || name.back().starts_with("pg_");
}

// Counts the tables of a FROM item; -1: something that is for snapshots.
int tables_of(const ast::FromItem& item) {
  if (const auto* table = ast::node_if<ast::FromTable>(&item)) return is_system_name(table->table.name) ? -1 : 1;
  if (item.kind == ast::FromKind::kFunction) return 0;
  const auto* join = ast::node_if<ast::FromJoin>(&item);
  if (join == nullptr || join->join == ast::JoinKind::kFull) return -1;
  const int left = tables_of(*join->left);
  const int right = tables_of(*join->right);
  return left < 0 || right < 0 ? -1 : left + right;
}

bool is_plain_target(const ast::SelectTarget& target) {
  return target.expr->kind == ast::ExprKind::kColumnRef || target.expr->kind == ast::ExprKind::kLiteral;
}

}  // namespace

bool may_be_short(const ast::Statement& statement) {
  const auto* select = ast::node_if<ast::SelectStatement>(&statement);
  if (select == nullptr || select->into || select->set != ast::SetOperation::kNone || !select->with.tables.empty() ||
      !select->group_by.empty() || select->having != nullptr || !select->windows.empty()) {
    return false;
  }
  int tables = 0;
  for (const auto& item : select->from) {
    const int more = tables_of(*item);
    if (more < 0) return false;
    tables += more;
  }
  if (tables == 0) return true;
  if (tables > kTablesMax) return false;
  // without a condition the program reads whole tables, unless it stops at a limit
  return select->where != nullptr || (select->limit != nullptr && tables == 1) ||
         std::all_of(select->targets.begin(), select->targets.end(), is_plain_target);
}

}  // namespace scyper::query
