#include "bind/system_types.h"

namespace scyper::query {

namespace {

using T = TypeId;

std::vector<SystemRow> namespaces(const Catalog&) {
  return {{kCatalogSchemaOid, "pg_catalog", kOwnerOid},
          {kPublicSchemaOid, "public", kOwnerOid},
          {kInformationSchemaOid, "information_schema", kOwnerOid}};
}

std::vector<SystemRow> classes(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  auto add = [&](int64_t oid, std::string_view name, const char* kind, size_t columns, bool has_index, int64_t tuples) {
    rows.push_back({oid, std::string(name), kPublicSchemaOid, int64_t{0}, kOwnerOid, int64_t{0}, tuples, has_index,
                    false, "p", kind, columns, false, false, false, false, false});
  };
  for (const auto& [name, table] : catalog.tables) {
    const auto& schema = table->schema();
    add(table_oid(schema), name, "r", visible_columns(schema), !schema.indexes.empty(), -1);
    for (const auto& index : schema.indexes) add(index_oid(index), index.name, "i", index.columns.size(), false, -1);
  }
  for (const auto& [name, view] : catalog.views)
    add(view_oid(catalog, name), name, "v", view->column_names.size(), false, -1);
  return rows;
}

std::vector<SystemRow> attributes(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& relation : system_relations(catalog)) {
    for (size_t i = 0; i < relation.column_count(); i++) {
      const SqlType& type = relation.column_type(i);
      bool not_null = relation.schema != nullptr && relation.schema->columns[i].not_null;
      int length = type.id == T::kArray ? -1 : system_type(type.id).length;
      rows.push_back({relation.oid, relation.column_name(i), type_oid(type), length, i + 1,
                      relation.schema == nullptr && type.id == T::kNumeric ? int64_t{-1} : type_modifier(type),
                      type.id == T::kArray ? 1 : 0, not_null, !default_of_column(catalog, relation, i).empty(), "", "",
                      false, int64_t{0}});
    }
  }
  return rows;
}

std::vector<SystemRow> types(const Catalog&) {
  std::vector<SystemRow> rows;
  for (const SystemType& type : kSystemTypes) {
    rows.push_back({type.oid, std::string(type.name), kCatalogSchemaOid, kOwnerOid, int{type.length}, "b",
                    std::string(1, type.category), int64_t{0}, type.array_oid, int64_t{0}});
    rows.push_back({type.array_oid, "_" + std::string(type.name), kCatalogSchemaOid, kOwnerOid, -1, "b", "A", type.oid,
                    int64_t{0}, int64_t{0}});
  }
  return rows;
}

std::string key_text(const storage::IndexDef& index) {
  std::string text;
  for (uint32_t column : index.columns) text += (text.empty() ? "" : " ") + std::to_string(column + 1);
  return text;
}

std::vector<SystemRow> indexes(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables)
    for (const auto& index : table->schema().indexes)
      rows.push_back({index_oid(index), table_oid(table->schema()), index.columns.size(), index.columns.size(),
                      index.unique, index.primary, true, true, key_text(index)});
  return rows;
}

std::string index_definition(const std::string& table, const storage::TableSchema& schema,
                             const storage::IndexDef& index) {
  std::string columns;
  for (size_t i = 0; i < index.columns.size(); i++) {
    columns += (i > 0 ? ", " : "") + schema.columns[index.columns[i]].name;
    if (!index.descending.empty() && index.descending[i]) columns += " DESC";
  }
  return std::string("CREATE ") + (index.unique ? "UNIQUE " : "") + "INDEX " + index.name + " ON public." + table +
         " USING btree (" + columns + ")";
}

std::vector<SystemRow> index_list(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables)
    for (const auto& index : table->schema().indexes)
      rows.push_back({"public", name, index.name, {}, index_definition(name, table->schema(), index)});
  return rows;
}

std::vector<SystemRow> table_list(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables)
    rows.push_back({"public", name, "scyper", {}, !table->schema().indexes.empty(), false, false, false});
  return rows;
}

std::vector<SystemRow> view_list(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, view] : catalog.views) rows.push_back({"public", name, "scyper", view->query});
  return rows;
}

std::vector<SystemRow> constraints(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables)
    for (const auto& index : table->schema().indexes)
      if (index.unique)
        rows.push_back({index_oid(index), index.name, kPublicSchemaOid, index.primary ? "p" : "u", false, false, true,
                        table_oid(table->schema()), index_oid(index), key_text(index)});
  return rows;
}

std::vector<SystemRow> defaults(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& relation : system_relations(catalog))
    for (size_t i = 0; i < relation.column_count(); i++)
      if (std::string text = default_of_column(catalog, relation, i); !text.empty())
        rows.push_back({relation.oid * 2000 + static_cast<int64_t>(i), relation.oid, i + 1, text});
  return rows;
}

std::vector<SystemRow> routines(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, routine] : catalog.routines)
    rows.push_back({routine_oid(*routine), name, kPublicSchemaOid, kOwnerOid, routine->procedure ? "p" : "f",
                    routine->strict, routine->input_count(),
                    routine->procedure ? int64_t{2278} : type_oid(routine->return_type), routine->body});
  return rows;
}

std::vector<SystemRow> databases(const Catalog&) { return {{int64_t{5}, "scyper", kOwnerOid, int64_t{6}, "C", "C"}}; }
std::vector<SystemRow> roles(const Catalog&) { return {{kOwnerOid, "scyper", true, true}}; }
std::vector<SystemRow> nothing(const Catalog&) { return {}; }

}  // namespace

std::vector<SystemTable> pg_catalog_tables() {
  constexpr std::string_view kSchema = "pg_catalog";
  return {
      {kSchema, "pg_namespace", columns_of("oid:int8 nspname nspowner:int8"), namespaces},
      {kSchema, "pg_class",
       columns_of("oid:int8 relname relnamespace:int8 reltype:int8 relowner:int8 relam:int8 reltuples:int8 "
                  "relhasindex:bool relisshared:bool relpersistence relkind relnatts:int2 relhasrules:bool "
                  "relhastriggers:bool relrowsecurity:bool relforcerowsecurity:bool relispartition:bool"),
       classes},
      {kSchema, "pg_attribute",
       columns_of("attrelid:int8 attname atttypid:int8 attlen:int2 attnum:int2 atttypmod:int4 attndims:int4 "
                  "attnotnull:bool atthasdef:bool attidentity attgenerated attisdropped:bool attcollation:int8"),
       attributes},
      {kSchema, "pg_type",
       columns_of("oid:int8 typname typnamespace:int8 typowner:int8 typlen:int2 typtype typcategory typelem:int8 "
                  "typarray:int8 typrelid:int8"),
       types},
      {kSchema, "pg_index",
       columns_of("indexrelid:int8 indrelid:int8 indnatts:int2 indnkeyatts:int2 indisunique:bool indisprimary:bool "
                  "indisvalid:bool indisready:bool indkey"),
       indexes},
      {kSchema, "pg_indexes", columns_of("schemaname tablename indexname tablespace indexdef"), index_list},
      {kSchema, "pg_tables",
       columns_of("schemaname tablename tableowner tablespace hasindexes:bool hasrules:bool hastriggers:bool "
                  "rowsecurity:bool"),
       table_list},
      {kSchema, "pg_views", columns_of("schemaname viewname viewowner definition"), view_list},
      {kSchema, "pg_constraint",
       columns_of("oid:int8 conname connamespace:int8 contype condeferrable:bool condeferred:bool convalidated:bool "
                  "conrelid:int8 conindid:int8 conkey"),
       constraints},
      {kSchema, "pg_attrdef", columns_of("oid:int8 adrelid:int8 adnum:int2 adbin"), defaults},
      {kSchema, "pg_proc",
       columns_of("oid:int8 proname pronamespace:int8 proowner:int8 prokind proisstrict:bool pronargs:int2 "
                  "prorettype:int8 prosrc"),
       routines},
      {kSchema, "pg_database", columns_of("oid:int8 datname datdba:int8 encoding:int4 datcollate datctype"), databases},
      {kSchema, "pg_roles", columns_of("oid:int8 rolname rolsuper:bool rolcanlogin:bool"), roles},
      {kSchema, "pg_description", columns_of("objoid:int8 classoid:int8 objsubid:int4 description"), nothing},
  };
}

}  // namespace scyper::query
