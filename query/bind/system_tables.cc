#include "bind/system_tables.h"

#include <algorithm>
#include <cstdlib>

#include "base/object_name.h"
#include "bind/builtin_catalog.h"
#include "bind/object_numbers.h"
#include "bind/system_types.h"
#include "storage/big_numeric.h"
#include "storage/json_text_type.h"
#include "storage/name_type.h"
#include "storage/time_modifier.h"

namespace scyper::query {

const SystemType& system_type(TypeId id) {
  for (const SystemType& type : kSystemTypes)
    if (type.id == id) return type;
  static constexpr SystemType kOther{TypeId::kUnknown, 705, 0, "unknown", -2, 'X'};
  return kOther;
}

int64_t type_oid(const SqlType& type) {
  constexpr int64_t kVoidOid = 2278, kRecordOid = 2249;
  if (type.id == TypeId::kVoid) return kVoidOid;
  constexpr int64_t kNameOid = 19;
  if (is_json_text(type)) return kJsonOid;
  if (is_json_path(type)) return kJsonPathOid;
  if (is_name(type)) return kNameOid;
  if (type.id == TypeId::kRecord) return kRecordOid;
  if (type.id == TypeId::kEnum) return enum_oid(type.length);
  if (type.id == TypeId::kArray && type.element == TypeId::kEnum) return enum_array_oid(type.length);
  constexpr int64_t kJsonArrayOid = 199, kJsonPathArrayOid = 4073;
  if (type.id == TypeId::kArray && is_json_text(element_of(type))) return kJsonArrayOid;
  if (type.id == TypeId::kArray && is_json_path(element_of(type))) return kJsonPathArrayOid;
  return type.id == TypeId::kArray ? system_type(type.element).array_oid : system_type(type.id).oid;
}

std::optional<SqlType> type_of_oid(int64_t oid) {
  for (const SystemType& type : kSystemTypes) {
    if (type.oid == oid) return make_type(type.id);
    if (type.array_oid == oid) return make_array(make_type(type.id));
  }
  constexpr int64_t kNameOid = 19, kCharOid = 18;
  if (oid == kNameOid) return name_type();
  if (oid == kJsonPathOid) return json_path_type();
  if (oid == kCharOid) return make_type(TypeId::kText);
  return std::nullopt;
}

int16_t type_length(const SqlType& type) {
  constexpr int16_t kVoidBytes = 4;
  if (type.id == TypeId::kVoid) return kVoidBytes;
  if (is_name(type)) return int16_t{kNameBytesMax + 1};
  return type.id == TypeId::kArray || type.id == TypeId::kRecord ? int16_t{-1} : system_type(type.id).length;
}

int64_t type_modifier(const SqlType& type) {
  constexpr int64_t kHeaderBytes = 4;  // PostgreSQL counts it in
  if (is_modified_numeric(type)) return type.length + kHeaderBytes;
  if (type.id == TypeId::kNumeric && type.precision > 0)
    return ((int64_t{type.precision} << 16) | type.scale) + kHeaderBytes;
  if (type.id == TypeId::kArray) return type_modifier(element_of(type));
  if (has_clock(type.id) || is_ordered_bytes(type.id)) return type.length;
  return is_string(type.id) && type.length >= 0 ? type.length + kHeaderBytes : -1;
}

int64_t view_oid(const Catalog& catalog, std::string_view name) {
  const auto view = catalog.views.find(name);
  if (view != catalog.views.end() && view->second->partition != nullptr) return partition_oid(*view->second->partition);
  return 3000000 + std::distance(catalog.views.begin(), view);
}

int64_t system_table_oid(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    int64_t oid;
  } kKnown[] = {{"pg_class", 1259},
                {"pg_type", 1247},
                {"pg_proc", 1255},
                {"pg_attribute", 1249},
                {"pg_namespace", 2615},
                {"pg_constraint", 2606},
                {"pg_trigger", 2620},
                {"pg_attrdef", 2604},
                {"pg_index", 2610},
                {"pg_database", 1262},
                {"pg_extension", 3079},
                {"pg_rewrite", 2618},
                {"pg_description", 2609},
                {"pg_enum", 3501},
                {"pg_am", 2601},
                {"pg_opclass", 2616},
                {"pg_cast", 2605},
                {"pg_collation", 3456},
                {"pg_language", 2612},
                {"pg_tablespace", 1213},
                {"pg_sequence", 2224},
                {"pg_depend", 2608},
                {"pg_inherits", 2611},
                {"pg_policy", 3256},
                {"pg_publication", 6104},
                {"pg_statistic_ext", 3381},
                {"pg_event_trigger", 3466},
                {"pg_foreign_data_wrapper", 2328},
                {"pg_foreign_server", 1417}};
  for (const auto& known : kKnown)
    if (known.name == name) return known.oid;
  constexpr int64_t kFirst = 12000;
  for (size_t i = 0; i < system_tables().size(); i++)
    if (system_tables()[i].name == name) return kFirst + static_cast<int64_t>(i);
  return 0;
}

int64_t schema_oid(const Catalog& catalog, std::string_view key) {
  constexpr int64_t kFirst = 2900000;
  auto found = catalog.namespaces.find(schema_of(key));
  return found == catalog.namespaces.end() ? kPublicSchemaOid
                                           : kFirst + std::distance(catalog.namespaces.begin(), found);
}

std::map<int64_t, std::string> schema_names(const Catalog& catalog) {
  std::map<int64_t, std::string> all = {
      {kCatalogSchemaOid, "pg_catalog"}, {kPublicSchemaOid, "public"}, {kInformationSchemaOid, "information_schema"}};
  for (const std::string& name : catalog.namespaces) all.emplace(schema_oid(catalog, object_key(name, "")), name);
  return all;
}

int64_t operator_class_oid(const SqlType& type) {
  constexpr int64_t kAnyArrayOid = 2277, kAnyEnumOid = 3500, kJsonbOid = 3802;
  const int64_t oid = type.id == TypeId::kArray  ? kAnyArrayOid
                      : type.id == TypeId::kEnum ? kAnyEnumOid
                                                 : type_oid(type);
  return builtin_operator_class(type.id == TypeId::kJsonb ? kJsonbOid : oid);
}

std::vector<SystemRelation> system_relations(const Catalog& catalog) {
  std::vector<SystemRelation> all;
  for (const auto& [name, table] : catalog.tables)
    all.push_back({name, table_oid(table->schema()), &table->schema(), nullptr});
  for (const auto& [name, view] : catalog.views) all.push_back({name, view_oid(catalog, name), nullptr, view.get()});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

bool is_not_null(const Catalog& catalog, const SystemRelation& relation, size_t column) {
  if (relation.schema != nullptr) return relation.schema->columns[column].not_null;
  const DeclaredPartition* partition = relation.view->partition.get();
  const auto root = partition == nullptr ? nullptr : catalog.find_table(partition->root);
  return root != nullptr && root->schema().columns[column].not_null;
}

const TableRules* rules_of(const Catalog& catalog, const SystemRelation& relation) {
  const DeclaredPartition* partition = relation.view == nullptr ? nullptr : relation.view->partition.get();
  if (relation.schema == nullptr && partition == nullptr) return nullptr;
  const auto found = catalog.rules.find(partition != nullptr ? partition->root : relation.schema->id);
  return found == catalog.rules.end() ? nullptr : &found->second;
}

std::string default_of_column(const Catalog& catalog, const SystemRelation& relation, size_t column) {
  const DeclaredPartition* partition = relation.view == nullptr ? nullptr : relation.view->partition.get();
  if (partition != nullptr) {
    if (const auto own = partition->defaults.find(relation.column_name(column)); own != partition->defaults.end())
      return own->second;
    const auto root = catalog.find_table(partition->root);
    return root == nullptr ? "" : default_of_column(catalog, {{}, 0, &root->schema(), nullptr}, column);
  }
  if (relation.schema == nullptr) return "";
  auto rules = catalog.rules.find(relation.schema->id);
  if (rules == catalog.rules.end() || column >= rules->second.columns.size()) return "";
  std::string text = rules->second.columns[column].default_text;
  if (text.starts_with(kSequenceDraw)) {
    const auto id = SequenceId(static_cast<uint32_t>(std::strtoul(text.c_str() + kSequenceDraw.size(), nullptr, 10)));
    if (storage::Sequence* sequence = catalog.find_sequence(id))
      text = "nextval('" + without_keys(sequence->definition().name, true) + "'::regclass)";
  }
  return text;
}

std::vector<SystemColumn> columns_of(std::string_view list) {
  std::vector<SystemColumn> columns;
  while (!list.empty()) {
    std::string_view word = list.substr(0, list.find(' '));
    list.remove_prefix(std::min(word.size() + 1, list.size()));
    const bool is_array = word.ends_with("[]");
    if (is_array) word.remove_suffix(2);
    size_t colon = word.find(':');
    TypeId type = TypeId::kText;
    for (const SystemType& known : kSystemTypes)
      if (colon != std::string_view::npos && known.name == word.substr(colon + 1)) type = known.id;
    int32_t kind = -1;
    if (colon != std::string_view::npos) {
      const std::string_view name = word.substr(colon + 1);
      if (name == "vector") kind = static_cast<int32_t>(ObjectKind::kVector);
      if (name == "oidvector") kind = static_cast<int32_t>(ObjectKind::kOidVector);
      if (const auto object = object_kind_of_name(name); object.has_value()) kind = static_cast<int32_t>(*object);
    }
    if (kind >= 0) type = number_type(static_cast<ObjectKind>(kind)).id;
    columns.push_back({word.substr(0, colon), type, is_array, kind});
  }
  return columns;
}

SystemValue access_value(const Access& access, const Catalog& catalog) {
  if (access.is_default) return {};
  return array_text(access_list(access, catalog.roles));
}

std::string array_text(const std::vector<std::string>& elements) {
  std::string text = "{";
  for (const std::string& entry : elements) {
    if (text.size() > 1) text += ',';
    const bool is_plain = !entry.empty() && entry.find_first_of("\"\\{}, ") == std::string::npos;
    if (!is_plain) text += '"';
    for (const char c : entry) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    if (!is_plain) text += '"';
  }
  return text + "}";
}

std::string owner_name(const Access& access, const Catalog& catalog) {
  const Role* owner = catalog.roles.find(access.owner);
  return owner == nullptr ? std::string() : owner->name;
}

Access relation_access(const Catalog& catalog, std::string_view key) {
  if (auto view = catalog.views.find(key); view != catalog.views.end()) return view->second->access;
  if (auto sequence = catalog.sequences.find(key); sequence != catalog.sequences.end())
    return sequence_access_of(catalog, sequence->second->definition().id);
  auto index = catalog.index_tables.find(key);
  const auto table = catalog.find_table(index == catalog.index_tables.end() ? key : std::string_view(index->second));
  const auto rules = table == nullptr ? catalog.rules.end() : catalog.rules.find(table->schema().id);
  if (rules == catalog.rules.end()) return {};
  Access access = rules->second.access;
  if (index != catalog.index_tables.end()) access = {access.owner, true, {}};
  return access;
}

const SystemLookup* find_system_lookup(std::string_view function) {
  static constexpr std::string_view kRoutines = "scyper_routine_texts", kOid = "scyper_oid";
  static constexpr SystemLookup kLookups[] = {
      {"pg_get_function_result", kRoutines, kOid, "scyper_result"},
      {"pg_get_function_arguments", kRoutines, kOid, "scyper_arguments"},
      {"pg_get_function_identity_arguments", kRoutines, kOid, "scyper_identity_arguments"},
      {"pg_get_functiondef", kRoutines, kOid, "scyper_definition"},
  };
  for (const SystemLookup& lookup : kLookups)
    if (lookup.function == function) return &lookup;
  return nullptr;
}

const std::vector<SystemTable>& system_tables() {
  static const auto* tables = [] {
    auto* all = new std::vector<SystemTable>(information_schema_tables());
    for (auto make : {pg_catalog_tables, builtin_tables, statistics_tables, catalog_relation_tables,
                      catalog_routine_tables, session_tables, text_search_tables})
      for (auto& table : make()) all->push_back(std::move(table));
    return all;
  }();
  return *tables;
}

const SystemTable* find_system_table(std::string_view schema, std::string_view name) {
  if (schema.empty()) schema = "pg_catalog";
  for (const SystemTable& table : system_tables())
    if (table.schema == schema && table.name == name) return &table;
  return nullptr;
}

}  // namespace scyper::query
