#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "bind/system_tables.h"
#include "query/type_numbers.h"

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
constexpr SystemType kSystemTypes[] = {{TypeId::kBool, 16, 1000, "bool", 1, 'B'},
                                       {TypeId::kInt2, 21, 1005, "int2", 2, 'N'},
                                       {TypeId::kInt4, 23, 1007, "int4", 4, 'N'},
                                       {TypeId::kInt8, 20, 1016, "int8", 8, 'N'},
                                       {TypeId::kFloat4, 700, 1021, "float4", 4, 'N'},
                                       {TypeId::kFloat8, 701, 1022, "float8", 8, 'N'},
                                       {TypeId::kNumeric, 1700, 1231, "numeric", -1, 'N'},
                                       {TypeId::kChar, 1042, 1014, "bpchar", -1, 'S'},
                                       {TypeId::kVarchar, 1043, 1015, "varchar", -1, 'S'},
                                       {TypeId::kText, 25, 1009, "text", -1, 'S'},
                                       {TypeId::kDate, 1082, 1182, "date", 4, 'D'},
                                       {TypeId::kTimestamp, 1114, 1115, "timestamp", 8, 'D'},
                                       {TypeId::kInterval, 1186, 1187, "interval", 16, 'T'},
                                       {TypeId::kTimestamptz, 1184, 1185, "timestamptz", 8, 'D'},
                                       {TypeId::kTime, 1083, 1183, "time", 8, 'D'},
                                       {TypeId::kUuid, 2950, 2951, "uuid", 16, 'U'},
                                       {TypeId::kBytea, 17, 1001, "bytea", -1, 'U'},
                                       {TypeId::kJsonb, 3802, 3807, "jsonb", -1, 'U'},
                                       {TypeId::kInet, 869, 1041, "inet", -1, 'I'},
                                       {TypeId::kCidr, 650, 651, "cidr", -1, 'I'},
                                       {TypeId::kMacaddr, 829, 1040, "macaddr", 6, 'U'},
                                       {TypeId::kMacaddr8, 774, 775, "macaddr8", 8, 'U'},
                                       {TypeId::kBit, 1560, 1561, "bit", -1, 'V'},
                                       {TypeId::kVarbit, 1562, 1563, "varbit", -1, 'V'},
                                       {TypeId::kMoney, 790, 791, "money", 8, 'N'},
                                       {TypeId::kTimetz, 1266, 1270, "timetz", 12, 'D'},
                                       {TypeId::kInt4range, 3904, 3905, "int4range", -1, 'R'},
                                       {TypeId::kInt8range, 3926, 3927, "int8range", -1, 'R'},
                                       {TypeId::kDaterange, 3912, 3913, "daterange", -1, 'R'},
                                       {TypeId::kTsrange, 3908, 3909, "tsrange", -1, 'R'},
                                       {TypeId::kTstzrange, 3910, 3911, "tstzrange", -1, 'R'},
                                       {TypeId::kNumrange, 3906, 3907, "numrange", -1, 'R'},
                                       {TypeId::kInt4multirange, 4451, 6150, "int4multirange", -1, 'R'},
                                       {TypeId::kInt8multirange, 4536, 6157, "int8multirange", -1, 'R'},
                                       {TypeId::kDatemultirange, 4535, 6155, "datemultirange", -1, 'R'},
                                       {TypeId::kTsmultirange, 4533, 6152, "tsmultirange", -1, 'R'},
                                       {TypeId::kTstzmultirange, 4534, 6153, "tstzmultirange", -1, 'R'},
                                       {TypeId::kNummultirange, 4532, 6151, "nummultirange", -1, 'R'},
                                       {TypeId::kTsvector, 3614, 3643, "tsvector", -1, 'U'},
                                       {TypeId::kTsquery, 3615, 3645, "tsquery", -1, 'U'}};

const SystemType& system_type(TypeId id);

constexpr int64_t kJsonOid = 114, kJsonPathOid = 4072;

// Types that only catalogs have: columns of theirs are bigint (oid) and text (name, "char") here.
struct CatalogType {
  int64_t oid;
  int64_t array_oid;
  std::string_view name;   // in pg_type
  std::string_view shown;  // by format_type()
  int16_t length;
  char category;
  char kind;  // typtype: b, or p for pseudo-types
};
constexpr CatalogType kCatalogTypes[] = {{18, 1002, "char", "\"char\"", 1, 'Z', 'b'},
                                         {19, 1003, "name", "name", 64, 'S', 'b'},
                                         {22, 1006, "int2vector", "int2vector", -1, 'A', 'b'},
                                         {24, 1008, "regproc", "regproc", 4, 'N', 'b'},
                                         {26, 1028, "oid", "oid", 4, 'N', 'b'},
                                         {30, 1013, "oidvector", "oidvector", -1, 'A', 'b'},
                                         {2202, 2207, "regprocedure", "regprocedure", 4, 'N', 'b'},
                                         {2205, 2210, "regclass", "regclass", 4, 'N', 'b'},
                                         {2206, 2211, "regtype", "regtype", 4, 'N', 'b'},
                                         {4089, 4090, "regnamespace", "regnamespace", 4, 'N', 'b'},
                                         {4096, 4097, "regrole", "regrole", 4, 'N', 'b'},
                                         {3734, 3735, "regconfig", "regconfig", 4, 'N', 'b'},
                                         {3769, 3770, "regdictionary", "regdictionary", 4, 'N', 'b'},
                                         {3642, 3644, "gtsvector", "gtsvector", -1, 'U', 'b'},
                                         {1790, 2201, "refcursor", "refcursor", -1, 'U', 'b'},
                                         {kJsonOid, 199, "json", "json", -1, 'U', 'b'},
                                         {kJsonPathOid, 4073, "jsonpath", "jsonpath", -1, 'U', 'b'},
                                         {705, 0, "unknown", "unknown", -2, 'X', 'p'},
                                         {2249, 2287, "record", "record", -1, 'P', 'p'},
                                         {2276, 0, "any", "\"any\"", 4, 'P', 'p'},
                                         {2277, 0, "anyarray", "anyarray", -1, 'P', 'p'},
                                         {2278, 0, "void", "void", 4, 'P', 'p'},
                                         {2279, 0, "trigger", "trigger", 4, 'P', 'p'},
                                         {2283, 0, "anyelement", "anyelement", 4, 'P', 'p'},
                                         {27, 1010, "tid", "tid", 6, 'U', 'b'},
                                         {28, 1011, "xid", "xid", 4, 'U', 'b'},
                                         {29, 1012, "cid", "cid", 4, 'U', 'b'},
                                         {1033, 1034, "aclitem", "aclitem", 12, 'U', 'b'},
                                         {2275, 1263, "cstring", "cstring", -2, 'P', 'p'},
                                         {2281, 0, "internal", "internal", 8, 'P', 'p'},
                                         {2280, 0, "language_handler", "language_handler", 4, 'P', 'p'},
                                         {325, 0, "index_am_handler", "index_am_handler", 4, 'P', 'p'},
                                         {269, 0, "table_am_handler", "table_am_handler", 4, 'P', 'p'},
                                         {2776, 0, "anynonarray", "anynonarray", 4, 'P', 'p'},
                                         {3500, 0, "anyenum", "anyenum", 4, 'P', 'p'},
                                         {3831, 0, "anyrange", "anyrange", -1, 'P', 'p'},
                                         {4537, 0, "anymultirange", "anymultirange", -1, 'P', 'p'},
                                         {5080, 0, "anycompatiblerange", "anycompatiblerange", -1, 'P', 'p'},
                                         {4538, 0, "anycompatiblemultirange", "anycompatiblemultirange", -1, 'P', 'p'},
                                         {5077, 0, "anycompatible", "anycompatible", 4, 'P', 'p'},
                                         {5078, 0, "anycompatiblearray", "anycompatiblearray", -1, 'P', 'p'},
                                         {5079, 0, "anycompatiblenonarray", "anycompatiblenonarray", 4, 'P', 'p'}};

constexpr int64_t kCatalogSchemaOid = 11, kPublicSchemaOid = 2200, kInformationSchemaOid = 13000;
constexpr int64_t kDatabaseOid = 5;  // pg_database's
constexpr int64_t kDefaultCollationOid = 100;
constexpr int64_t kOwnerOid = 10, kPlpgsqlExtensionOid = 13000, kFirstTriggerOid = 5000000;
constexpr int64_t kFirstTableOid = 1000000, kFirstIndexOid = 2000000;
inline int64_t table_oid(TableId id) { return kFirstTableOid + int64_t{id.value()}; }
inline int64_t table_oid(const storage::TableSchema& schema) { return table_oid(schema.id); }
inline int64_t partition_oid(const DeclaredPartition& partition) { return table_oid(partition.id); }
// nullopt: it is no table's.
inline std::optional<TableId> table_of_oid(int64_t oid) {
  if (oid < kFirstTableOid || oid >= kFirstIndexOid) return std::nullopt;
  return TableId(static_cast<uint32_t>(oid - kFirstTableOid));
}
inline int64_t index_oid(const storage::IndexDef& index) { return kFirstIndexOid + int64_t{index.id.value()}; }
inline int64_t enum_oid(int32_t number) { return 6000000 + int64_t{number}; }
inline int64_t enum_array_oid(int32_t number) { return 6500000 + int64_t{number}; }
inline int64_t domain_oid(uint32_t id) { return 6600000 + int64_t{id}; }
inline int64_t domain_array_oid(uint32_t id) { return 6700000 + int64_t{id}; }
static_assert(kDomainsMax <= 100000);
inline int64_t sequence_oid(const storage::Sequence& sequence) {
  return 3500000 + int64_t{sequence.definition().id.value()};
}
constexpr int64_t kFileExtensionOid = 6899999, kFileWrapperOid = 6900000;
// As long as no server comes or goes.
inline int64_t foreign_server_oid(const Catalog& catalog, const std::string& name) {
  return kFileWrapperOid + 1 + std::distance(catalog.foreign_servers.begin(), catalog.foreign_servers.find(name));
}
int64_t view_oid(const Catalog& catalog, std::string_view name);
// PostgreSQL's numbers where its clients know them by heart.
int64_t system_table_oid(std::string_view name);
// As long as no schema comes or goes, like those of views.
int64_t schema_oid(const Catalog& catalog, std::string_view key);
std::map<int64_t, std::string> schema_names(const Catalog& catalog);
inline int64_t routine_oid(const Routine& routine) { return 4000000 + int64_t{routine.id.value()}; }

// A table or a view: name, kind, columns.
struct SystemRelation {
  std::string_view name;
  int64_t oid;
  const storage::TableSchema* schema;  // nullptr: a view
  const View* view;

  size_t column_count() const {
    return schema != nullptr ? storage::visible_columns(*schema) : view->column_names.size();
  }
  const std::string& column_name(size_t i) const {
    return schema != nullptr ? schema->columns[i].name : view->column_names[i];
  }
  const SqlType& column_type(size_t i) const {
    return schema != nullptr ? schema->columns[i].type : view->column_types[i];
  }
};
std::vector<SystemRelation> system_relations(const Catalog& catalog);
// The text of a column's default, empty = none.
// The rules of a table, or of the table that has the rows of a partition; nullptr: another relation.
const TableRules* rules_of(const Catalog& catalog, const SystemRelation& relation);
bool is_not_null(const Catalog& catalog, const SystemRelation& relation, size_t column);
std::string default_of_column(const Catalog& catalog, const SystemRelation& relation, size_t column);

// The btree operators of a type: pg_opclass.
int64_t operator_class_oid(const SqlType& type);
// As parameters and results of routines are declared: without lengths and precisions.
std::string parameter_type_name(const SqlType& type, const std::string& relation);
// "name name:int4 ...": of type text where nothing is said.
std::vector<SystemColumn> columns_of(std::string_view list);
std::vector<SystemTable> information_schema_tables();
std::vector<SystemTable> pg_catalog_tables();
std::vector<SystemTable> catalog_relation_tables();  // catalog_relations.cc: of pg_catalog, as the next
std::vector<SystemTable> catalog_routine_tables();
std::vector<SystemTable> text_search_tables();  // text_search_tables.cc
std::vector<SystemTable> statistics_tables();   // table_statistics.cc
// session_activity.cc: rows of now, not of the catalog, for queries that are compiled to run once.
std::vector<SystemTable> session_tables();
bool is_live(const SystemTable& table);
const std::vector<SystemTable>& system_tables();

}  // namespace scyper::query
