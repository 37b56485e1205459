#include "bind/system_tables.h"

#include <algorithm>
#include <cstdlib>

#include "bind/system_types.h"

namespace scyper::query {

const SystemType& system_type(TypeId id) {
  for (const SystemType& type : kSystemTypes)
    if (type.id == id) return type;
  static constexpr SystemType kOther{TypeId::kUnknown, 705, 0, "unknown", -2, 'X'};
  return kOther;
}

int64_t type_oid(const SqlType& type) {
  return type.id == TypeId::kArray ? system_type(type.element).array_oid : system_type(type.id).oid;
}

int64_t type_modifier(const SqlType& type) {
  constexpr int64_t kHeaderBytes = 4;  // PostgreSQL counts it in
  if (type.id == TypeId::kNumeric && type.precision > 0)
    return ((int64_t{type.precision} << 16) | type.scale) + kHeaderBytes;
  return is_string(type.id) && type.length >= 0 ? type.length + kHeaderBytes : -1;
}

int64_t view_oid(const Catalog& catalog, std::string_view name) {
  return 3000000 + std::distance(catalog.views.begin(), catalog.views.find(name));
}

size_t visible_columns(const storage::TableSchema& schema) {
  return schema.columns.size() - (schema.has_row_id ? 1 : 0);
}

std::vector<SystemRelation> system_relations(const Catalog& catalog) {
  std::vector<SystemRelation> all;
  for (const auto& [name, table] : catalog.tables)
    all.push_back({name, table_oid(table->schema()), &table->schema(), nullptr});
  for (const auto& [name, view] : catalog.views) all.push_back({name, view_oid(catalog, name), nullptr, view.get()});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

std::string default_of_column(const Catalog& catalog, const SystemRelation& relation, size_t column) {
  if (relation.schema == nullptr) return "";
  auto rules = catalog.rules.find(relation.schema->id);
  if (rules == catalog.rules.end() || column >= rules->second.columns.size()) return "";
  std::string text = rules->second.columns[column].default_text;
  constexpr std::string_view kDraw = "\" nextval\"(";
  if (text.compare(0, kDraw.size(), kDraw) == 0) {
    const auto id = SequenceId(static_cast<uint32_t>(std::strtoul(text.c_str() + kDraw.size(), nullptr, 10)));
    if (storage::Sequence* sequence = catalog.find_sequence(id))
      text = "nextval('" + sequence->definition().name + "'::regclass)";
  }
  return text;
}

std::vector<SystemColumn> columns_of(std::string_view list) {
  std::vector<SystemColumn> columns;
  while (!list.empty()) {
    std::string_view word = list.substr(0, list.find(' '));
    list.remove_prefix(std::min(word.size() + 1, list.size()));
    size_t colon = word.find(':');
    TypeId type = TypeId::kText;
    for (const SystemType& known : kSystemTypes)
      if (colon != std::string_view::npos && known.name == word.substr(colon + 1)) type = known.id;
    columns.push_back({word.substr(0, colon), type});
  }
  return columns;
}

const SystemTable* find_system_table(std::string_view schema, std::string_view name) {
  static const auto* tables = [] {
    auto* all = new std::vector<SystemTable>(information_schema_tables());
    for (auto& table : pg_catalog_tables()) all->push_back(std::move(table));
    return all;
  }();
  if (schema.empty()) schema = "pg_catalog";
  for (const SystemTable& table : *tables)
    if (table.schema == schema && table.name == name) return &table;
  return nullptr;
}

}  // namespace scyper::query
