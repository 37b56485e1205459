#include "bind/object_numbers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/builtin_catalog.h"
#include "bind/names_on_path.h"
#include "bind/system_types.h"
#include "bind/type_functions.h"
#include "parse/printer.h"
#include "parse/type_resolver.h"
#include "types/text_configuration.h"

namespace scyper::query {

namespace {

constexpr int32_t kFirstLength = -2;  // -1: none
constexpr struct {
  std::string_view name;
  ObjectKind kind;
} kKinds[] = {{"regclass", ObjectKind::kRelation},
              {"regtype", ObjectKind::kType},
              {"regproc", ObjectKind::kRoutine},
              {"regprocedure", ObjectKind::kSignature},
              {"regnamespace", ObjectKind::kSchema},
              {"regrole", ObjectKind::kRole},
              {"int2vector", ObjectKind::kVector},
              {"oidvector", ObjectKind::kOidVector},
              {"regconfig", ObjectKind::kTextConfiguration},
              {"regdictionary", ObjectKind::kTextDictionary}};

// Key and number of what pg_class has, and of the system tables.
std::map<std::string, int64_t> relations(const Catalog& catalog) {
  std::map<std::string, int64_t> all;
  for (const auto& [name, table] : catalog.tables) {
    all.emplace(name, table_oid(table->schema()));
    for (const auto& index : table->schema().indexes) all.emplace(index.name, index_oid(index));
  }
  for (const auto& [name, view] : catalog.views) all.emplace(name, view_oid(catalog, name));
  for (const auto& [name, sequence] : catalog.sequences) all.emplace(name, sequence_oid(*sequence));
  return all;
}

// Tells which objects of one kind the search_path finds by their bare names.
class NamesOnPath {
 public:
  explicit NamesOnPath(const Catalog& catalog) : path_(current_schemas(catalog)) {}
  template <class Map>
  bool finds(const Map& all, std::string_view key) const {
    for (const std::string& schema : path_) {
      const std::string first = object_key(schema, bare_name(key));
      if (schema != "pg_catalog" && all.contains(first)) return first == key;
    }
    return false;
  }
  // The name as a text that finds the object.
  template <class Map>
  std::string shown(const Map& all, const std::string& key) const {
    return finds(all, key) ? quote_identifier(std::string(bare_name(key))) : qualified(key);
  }
  static std::string qualified(std::string_view key) {
    return quote_identifier(std::string(schema_of(key))) + "." + quote_identifier(std::string(bare_name(key)));
  }

 private:
  const std::vector<std::string> path_;
};

// f(integer,text)
std::string signature(const std::string& name, const Routine& routine) {
  std::string types;
  for (const auto& parameter : routine.parameters)
    if (parameter.mode != ParameterMode::kOut)
      types += (types.empty() ? "" : ",") + parameter_type_name(parameter.type, parameter.relation);
  return name + "(" + types + ")";
}

std::map<int64_t, std::string> type_names(const Catalog& catalog) {
  std::map<int64_t, std::string> all;
  const NamesOnPath path(catalog);
  auto add = [&](int64_t oid, int64_t array_oid, const std::string& name) {
    all.emplace(oid, name);
    if (array_oid != 0) all.emplace(array_oid, name + "[]");
  };
  for (const SystemType& type : kSystemTypes) add(type.oid, type.array_oid, type_name(make_type(type.id)));
  for (const CatalogType& type : kCatalogTypes) add(type.oid, type.array_oid, std::string(type.shown));
  for (const auto& [name, type] : catalog.enums)
    add(enum_oid(type->number), enum_array_oid(type->number), path.shown(catalog.enums, name));
  for (const auto& [name, domain] : catalog.domains)
    add(domain_oid(domain->id), domain_array_oid(domain->id), path.shown(catalog.domains, name));
  return all;
}

// With their schema where there are several, as PostgreSQL shows a regproc that its name does not tell.
std::map<int64_t, std::string> system_function_names() {
  std::map<std::string_view, size_t> counts;
  for (const BuiltinFunction& function : builtin_functions()) ++counts[function.name];
  std::map<int64_t, std::string> all;
  for (const BuiltinFunction& function : builtin_functions())
    all.emplace(function.oid, (counts[function.name] > 1 ? "pg_catalog." : "") + function.name);
  return all;
}

std::map<int64_t, std::string> builtin_signatures(const std::map<int64_t, std::string>& types) {
  std::map<int64_t, std::string> all;
  for (const BuiltinFunction& function : builtin_functions()) {
    std::string list;
    for (const int64_t type : function.arguments) {
      const auto known = types.find(type);
      list += (list.empty() ? "" : ",") + (known == types.end() ? std::to_string(type) : known->second);
    }
    all.emplace(function.oid, function.name + "(" + list + ")");
  }
  return all;
}

}  // namespace

SqlType number_type(ObjectKind kind) {
  SqlType type = make_type(TypeId::kInt8);
  if (is_vector(kind)) type = make_array(make_type(kind == ObjectKind::kVector ? TypeId::kInt2 : TypeId::kInt8));
  type.length = kFirstLength - static_cast<int32_t>(kind);
  return type;
}

std::optional<ObjectKind> object_kind(const SqlType& type) {
  const bool is_list = type.id == TypeId::kArray && (type.element == TypeId::kInt2 || type.element == TypeId::kInt8);
  const bool is_number = type.id == TypeId::kInt8 || is_list;
  if (!is_number || type.length > kFirstLength) return std::nullopt;
  return static_cast<ObjectKind>(kFirstLength - type.length);
}

std::optional<ObjectKind> object_kind_of_name(std::string_view type_name) {
  for (const auto& [name, kind] : kKinds)
    if (name == type_name && !is_vector(kind)) return kind;
  return std::nullopt;
}

std::optional<SqlType> catalog_type(const ast::TypeName& type) {
  const bool is_system = type.name.size() == 1 || (type.name.size() == 2 && type.name[0] == "pg_catalog");
  if (!is_system || type.percent_type || type.percent_rowtype || !type.array_bounds.empty()) return std::nullopt;
  const std::string& name = type.name.back();
  if (name == "oid") return make_type(TypeId::kInt8);
  const auto kind = object_kind_of_name(name);
  return kind.has_value() ? std::optional<SqlType>(number_type(*kind)) : std::nullopt;
}

std::string_view name_of_kind(ObjectKind kind) {
  return std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return k.kind == kind; })->name;
}

std::map<int64_t, std::string> object_names(const Catalog& catalog, ObjectKind kind) {
  std::map<int64_t, std::string> all = {{0, "-"}};
  const NamesOnPath path(catalog);
  switch (kind) {
    case ObjectKind::kRelation: {
      const auto keys = relations(catalog);
      for (const auto& [key, oid] : keys) all.emplace(oid, path.shown(keys, key));
      for (const SystemTable& table : system_tables()) {
        const bool is_found = table.schema == "pg_catalog";
        all.emplace(system_table_oid(table.name),
                    (is_found ? "" : std::string(table.schema) + ".") + std::string(table.name));
      }
      break;
    }
    case ObjectKind::kType:
      all.merge(type_names(catalog));
      break;
    case ObjectKind::kRoutine:
      all.merge(system_function_names());
      for (const TypeFunction& function : all_type_functions()) all.emplace(function.oid, function.name);
      for (const auto& [key, routine] : catalog.routines)
        all.emplace(routine_oid(*routine), path.shown(catalog.routines, key));
      break;
    case ObjectKind::kSignature:
      all.merge(builtin_signatures(type_names(catalog)));
      for (const auto& [key, routine] : catalog.routines)
        all.emplace(routine_oid(*routine), signature(path.shown(catalog.routines, key), *routine));
      break;
    case ObjectKind::kSchema:
      for (const auto& [oid, name] : schema_names(catalog)) all.emplace(oid, quote_identifier(name));
      break;
    case ObjectKind::kRole:
      for (const auto& [name, role] : catalog.roles.all()) all.emplace(int64_t{role->id}, quote_identifier(name));
      break;
    case ObjectKind::kTextConfiguration:
      for (const TextConfiguration& one : text_configurations()) all.emplace(one.oid, one.name);
      break;
    case ObjectKind::kTextDictionary:
      for (const TextDictionary& one : text_dictionaries()) all.emplace(one.oid, one.name);
      break;
    case ObjectKind::kVector:
    case ObjectKind::kOidVector:
      break;
  }
  return all;
}

std::string sequence_on_path(const Catalog& catalog, std::span<const std::string> path, std::string_view text) {
  if (text.find('.') != std::string_view::npos) return std::string(text);
  const std::string bare = object_key_of_text(text);
  const auto with_schema = [&](std::string_view schema) {
    return absl::StrCat(quote_identifier(std::string(schema)), ".", quote_identifier(bare));
  };
  for (const std::string& schema : path)
    if (schema != "pg_catalog" && catalog.sequences.contains(object_key(schema, bare))) return with_schema(schema);
  const bool sees_public = std::find(path.begin(), path.end(), kPublicSchema) != path.end();
  return sees_public ? std::string(text) : with_schema(kNoSchema);
}

std::string database_of_name(std::string_view text) {
  size_t dots = 0, first = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size() && text[i] != '('; i++) {
    is_quoted ^= text[i] == '"';
    if (text[i] != '.' || is_quoted) continue;
    if (dots++ == 0) first = i;
  }
  return dots == 2 ? object_key_of_text(text.substr(0, first)) : std::string();
}

Status cross_database(std::string_view text) {
  return sql_error("0A000", absl::StrCat("cross-database references are not implemented: \"", std::string(text), "\""));
}

std::string lookup_key(ObjectKind kind, std::string_view text) {
  const bool is_bare = text.find('.') == std::string_view::npos;
  const bool follows_path = kind == ObjectKind::kRelation || kind == ObjectKind::kRoutine;
  return (is_bare && follows_path ? kOnPath : "") + object_key_of_text(text);
}

std::multimap<std::string, int64_t> object_numbers(const Catalog& catalog, ObjectKind kind) {
  std::multimap<std::string, int64_t> all;
  const NamesOnPath path(catalog);
  auto add = [&](const auto& keys, const std::string& key, int64_t oid) {
    all.emplace(key, oid);
    if (path.finds(keys, key)) all.emplace(kOnPath + std::string(bare_name(key)), oid);
  };
  if (kind == ObjectKind::kRelation) {
    const auto keys = relations(catalog);
    for (const auto& [key, oid] : keys) add(keys, key, oid);
    for (const SystemTable& table : system_tables()) {
      all.emplace(table.name, system_table_oid(table.name));
      if (table.schema == "pg_catalog") all.emplace(kOnPath + std::string(table.name), system_table_oid(table.name));
    }
  } else if (kind == ObjectKind::kRoutine) {
    std::map<int64_t, std::string> names;
    for (const BuiltinFunction& function : builtin_functions()) names.emplace(function.oid, function.name);
    for (const TypeFunction& function : all_type_functions()) names.emplace(function.oid, function.name);
    for (const auto& [oid, name] : names) {
      all.emplace(name, oid);
      all.emplace(kOnPath + name, oid);
    }
    for (const auto& [key, routine] : catalog.routines) add(catalog.routines, key, routine_oid(*routine));
  } else if (kind == ObjectKind::kSchema) {
    for (const auto& [oid, name] : schema_names(catalog)) all.emplace(name, oid);
  } else {
    for (const auto& [oid, name] : object_names(catalog, kind)) all.emplace(name, oid);
  }
  if (kind == ObjectKind::kSignature)
    for (const auto& [key, routine] : catalog.routines)
      if (const std::string name = signature(NamesOnPath::qualified(key), *routine); !all.contains(name))
        all.emplace(name, routine_oid(*routine));
  if (kind == ObjectKind::kType) {
    for (const SystemType& type : kSystemTypes) {
      all.emplace(type.name, type.oid);
      all.emplace("_" + std::string(type.name), type.array_oid);
    }
    for (const CatalogType& type : kCatalogTypes) all.emplace(type.name, type.oid);
    auto add_qualified = [&](const std::string& key, int64_t oid, int64_t array_oid) {
      const std::string name = NamesOnPath::qualified(key);
      if (!all.contains(name)) all.emplace(name, oid);
      if (!all.contains(name + "[]")) all.emplace(name + "[]", array_oid);
      all.emplace(sibling_key(key, "_" + std::string(bare_name(key))), array_oid);
    };
    for (const auto& [key, type] : catalog.enums)
      add_qualified(key, enum_oid(type->number), enum_array_oid(type->number));
    for (const auto& [key, domain] : catalog.domains)
      add_qualified(key, domain_oid(domain->id), domain_array_oid(domain->id));
  }
  return all;
}

}  // namespace scyper::query
