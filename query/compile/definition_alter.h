#pragma once

#include <memory>
#include <string>
#include <vector>

#include "query/catalog.h"
#include "storage/table_rebuild.h"

namespace scyper::query {

// What one command of ALTER TABLE makes of a table: its next definition, and where the values of its columns come from.
struct TableChange {
  std::shared_ptr<storage::Table> old;
  storage::TableSchema schema;  // without __row_id, as columns and rules are
  TableRules rules;
  std::vector<storage::RebuiltColumn> columns;
  bool by_identity = false;
};

TableChange begin_change(std::shared_ptr<storage::Table> table, const TableRules& rules);
// Drops a column from all positions; what indexes and foreign keys it was part of must be gone.
void remove_column(TableChange* change, uint32_t column);
// Drops the index at this position, and the hidden columns that only it reads.
void remove_index(TableChange* change, size_t position);
// What the index's columns are called in names: expressions by what they are.
std::vector<std::string> key_names(const storage::TableSchema& schema, const storage::IndexDef& index);

}  // namespace scyper::query
