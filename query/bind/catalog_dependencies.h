#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bind/system_tables.h"

// pg_depend and pg_rewrite: in which order pg_dump has to write what tables, sequences and views are made of.
namespace scyper::query {

// Defaults and generated columns, as pg_attrdef has them.
struct ColumnDefault {
  int64_t oid;
  const storage::TableSchema* schema;
  uint32_t column;
  std::string text;
  int64_t relation = 0;
};
std::vector<ColumnDefault> column_defaults(const Catalog& catalog);

std::vector<SystemRow> rewrites(const Catalog& catalog);
std::vector<SystemRow> dependencies(const Catalog& catalog);

}  // namespace scyper::query
