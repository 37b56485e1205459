#pragma once

#include <cstdint>
#include <string_view>

#include "bind/system_tables.h"

// What the system tables share: PostgreSQL's numbers and names of types, our numbers of objects.
namespace scyper::query {

struct SystemType {
  TypeId id;
  int64_t oid;
  int64_t array_oid;
  std::string_view name;  // in pg_type
  int16_t length;         // in pg_type: -1 = varies
  char category;
};
constexpr SystemType kSystemTypes[] = {
    {TypeId::kBool, 16, 1000, "bool", 1, 'B'},           {TypeId::kInt2, 21, 1005, "int2", 2, 'N'},
    {TypeId::kInt4, 23, 1007, "int4", 4, 'N'},           {TypeId::kInt8, 20, 1016, "int8", 8, 'N'},
    {TypeId::kFloat4, 700, 1021, "float4", 4, 'N'},      {TypeId::kFloat8, 701, 1022, "float8", 8, 'N'},
    {TypeId::kNumeric, 1700, 1231, "numeric", -1, 'N'},  {TypeId::kChar, 1042, 1014, "bpchar", -1, 'S'},
    {TypeId::kVarchar, 1043, 1015, "varchar", -1, 'S'},  {TypeId::kText, 25, 1009, "text", -1, 'S'},
    {TypeId::kDate, 1082, 1182, "date", 4, 'D'},         {TypeId::kTimestamp, 1114, 1115, "timestamp", 8, 'D'},
    {TypeId::kInterval, 1186, 1187, "interval", 16, 'T'}};

const SystemType& system_type(TypeId id);
int64_t type_oid(const SqlType& type);
int64_t type_modifier(const SqlType& type);  // pg_attribute.atttypmod

constexpr int64_t kCatalogSchemaOid = 11, kPublicSchemaOid = 2200, kInformationSchemaOid = 13000;
constexpr int64_t kOwnerOid = 10;
inline int64_t table_oid(const storage::TableSchema& schema) { return 1000000 + int64_t{schema.id.value()}; }
inline int64_t index_oid(const storage::IndexDef& index) { return 2000000 + int64_t{index.id.value()}; }
int64_t view_oid(const Catalog& catalog, std::string_view name);
inline int64_t routine_oid(const Routine& routine) { return 4000000 + int64_t{routine.id.value()}; }

size_t visible_columns(const storage::TableSchema& schema);

// A table or a view: name, kind, columns.
struct SystemRelation {
  std::string_view name;
  int64_t oid;
  const storage::TableSchema* schema;  // nullptr: a view
  const View* view;

  size_t column_count() const { return schema != nullptr ? visible_columns(*schema) : view->column_names.size(); }
  const std::string& column_name(size_t i) const {
    return schema != nullptr ? schema->columns[i].name : view->column_names[i];
  }
  const SqlType& column_type(size_t i) const {
    return schema != nullptr ? schema->columns[i].type : view->column_types[i];
  }
};
std::vector<SystemRelation> system_relations(const Catalog& catalog);
// The text of a column's default, empty = none.
std::string default_of_column(const Catalog& catalog, const SystemRelation& relation, size_t column);

// "name name:int4 ...": of type text where nothing is said.
std::vector<SystemColumn> columns_of(std::string_view list);
std::vector<SystemTable> information_schema_tables();
std::vector<SystemTable> pg_catalog_tables();

}  // namespace scyper::query
