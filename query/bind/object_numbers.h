#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parse/ast.h"
#include "query/catalog.h"

// PostgreSQL's types whose values are numbers of objects and whose text is a name: regclass and its kin. Here they are
// bigint with a length that says which of them, and only in expressions: what leaves a statement is the name. So is
// int2vector and oidvector: smallint[] and bigint[] whose text is "1 2".
namespace scyper::query {

enum class ObjectKind : int32_t {
  kRelation,
  kType,
  kRoutine,
  kSignature,
  kSchema,
  kRole,
  kVector,
  kOidVector,
  kTextConfiguration,
  kTextDictionary
};

// Where names are looked up (search_path), of the schemas that exist.
std::vector<std::string> current_schemas(const Catalog& catalog);

SqlType number_type(ObjectKind kind);
// nullopt: a type like any other.
std::optional<ObjectKind> object_kind(const SqlType& type);
// regclass, regtype, regproc, regprocedure, regnamespace, regrole, regconfig, regdictionary; nullopt for other names.
std::optional<ObjectKind> object_kind_of_name(std::string_view type_name);
std::string_view name_of_kind(ObjectKind kind);
// regconfig and regdictionary.
inline bool names_text_search(const SqlType& type) {
  const auto kind = object_kind(type);
  return kind == ObjectKind::kTextConfiguration || kind == ObjectKind::kTextDictionary;
}
inline bool is_vector(ObjectKind kind) { return kind == ObjectKind::kVector || kind == ObjectKind::kOidVector; }
// What routines declare for objects of the catalog: regclass and its kin, oid, name. nullopt: another type.
std::optional<SqlType> catalog_type(const ast::TypeName& type);

// Number and name of all objects of the kind, as casts to text show them: with a schema where nothing finds the name
// without it.
std::map<int64_t, std::string> object_names(const Catalog& catalog, ObjectKind kind);
// By what text may name them: more names than object_names() has, keys (base/object_name.h) among them.
std::multimap<std::string, int64_t> object_numbers(const Catalog& catalog, ObjectKind kind);

}  // namespace scyper::query
