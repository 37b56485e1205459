#include "block_catalog.h"

#include <algorithm>

namespace scyper::primary {

using query::Catalog;
using query::ForeignKey;
using query::TableRules;

namespace {

bool has_same_rules(const TableRules& a, const TableRules& b) {
  const auto is_same_check = [](const TableRules::Check& x, const TableRules::Check& y) {
    return x.name == y.name && x.expression == y.expression;
  };
  const auto is_same_key = [](const ForeignKey& x, const ForeignKey& y) {
    return x.name == y.name && x.columns == y.columns && x.table == y.table && x.checks == y.checks;
  };
  return std::equal(a.checks.begin(), a.checks.end(), b.checks.begin(), b.checks.end(), is_same_check) &&
         std::equal(a.foreign_keys.begin(), a.foreign_keys.end(), b.foreign_keys.begin(), b.foreign_keys.end(),
                    is_same_key);
}

const TableRules& rules_of(const Catalog& catalog, TableId id) {
  static const TableRules kNone;
  const auto rules = catalog.rules.find(id);
  return rules == catalog.rules.end() ? kNone : rules->second;
}

size_t count_references(const Catalog& catalog, TableId id) {
  size_t count = 0;
  for (const auto& [table, rules] : catalog.rules) {
    for (const ForeignKey& key : rules.foreign_keys) count += key.table == id ? 1 : 0;
  }
  return count;
}

bool is_same_table(const Catalog& before, const Catalog& now, TableId id) {
  const auto table = before.find_table(id);
  if (table == nullptr || now.find_table(id) != table) return false;
  const auto then = before.schemas.find(table.get()), new_one = now.schemas.find(table.get());
  if (then == before.schemas.end() || new_one == now.schemas.end() || then->second != new_one->second) return false;
  return has_same_rules(rules_of(before, id), rules_of(now, id)) &&
         count_references(before, id) == count_references(now, id);
}

}  // namespace

Status check_block_catalog(const TentativeBlock& block, const Catalog& now) {
  const Catalog& before = *block.catalog;
  if (before.version == now.version) return {};
  const auto is_same = [&](TableId id) { return is_same_table(before, now, id); };
  if (std::all_of(block.tables.begin(), block.tables.end(), is_same)) return {};
  return with_hint(sql_error("40001", "could not serialize access due to concurrent change of definitions"),
                   "A table that the block has changed was defined anew. The transaction might succeed if retried.");
}

bool has_references(const query::Catalog& catalog, std::string_view table) {
  const auto found = catalog.find_table(table);
  if (found == nullptr) return true;
  const auto rules = catalog.rules.find(found->schema().id);
  if (rules != catalog.rules.end() && !rules->second.foreign_keys.empty()) return true;
  return std::any_of(catalog.triggers.begin(), catalog.triggers.end(),
                     [table](const auto& trigger) { return trigger.first.first == table; });
}

}  // namespace scyper::primary
