#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query/catalog.h"

// The tables of information_schema and pg_catalog: what a catalog version contains, as far as tools ask for it.
namespace scyper::query {

struct SystemColumn {
  std::string_view name;
  TypeId type;  // kText for PostgreSQL's name, kInt8 for oid
  bool is_array = false;
  int32_t kind = -1;  // ObjectKind, of regproc and its kin and vectors: what leaves a statement is a name, or "1 2"
};

struct SystemValue {
  bool present = false;  // false: NULL
  int64_t number = 0;
  std::string text;

  SystemValue() = default;
  SystemValue(std::string value) : present(true), text(std::move(value)) {}      // NOLINT: rows read like literals
  SystemValue(const char* value) : present(true), text(value) {}                 // NOLINT
  SystemValue(int64_t value) : present(true), number(value) {}                   // NOLINT
  SystemValue(size_t value) : SystemValue(static_cast<int64_t>(value)) {}        // NOLINT
  SystemValue(int value) : SystemValue(static_cast<int64_t>(value)) {}           // NOLINT
  SystemValue(bool value) : SystemValue(static_cast<int64_t>(value ? 1 : 0)) {}  // NOLINT
};
using SystemRow = std::vector<SystemValue>;

// An access list as an array of texts; NULL where nothing was ever granted or revoked.
SystemValue access_value(const Access& access, const Catalog& catalog);
// The text of an array of texts.
std::string array_text(const std::vector<std::string>& elements);
std::string owner_name(const Access& access, const Catalog& catalog);
// Of a table, view, sequence or index, by its key; of others the default.
Access relation_access(const Catalog& catalog, std::string_view key);

struct SystemTable {
  std::string_view schema;
  std::string_view name;
  std::vector<SystemColumn> columns;
  std::vector<SystemRow> (*rows)(const Catalog& catalog);
  std::string_view query = {};  // that gives them instead, with the columns in their order
};

// A function of pg_catalog that says something about an object: the column of a system table whose row has its number.
struct SystemLookup {
  std::string_view function;
  std::string_view table;
  std::string_view key;
  std::string_view column;
};
// nullptr: no such function.
const SystemLookup* find_system_lookup(std::string_view function);

// nullptr: none of that name. schema: empty for pg_catalog, which every search path contains.
const SystemTable* find_system_table(std::string_view schema, std::string_view name);

}  // namespace scyper::query
