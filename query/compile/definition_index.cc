#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/text.h"
#include "runtime/memory.h"

namespace scyper::query {

Status Definer::create_index(const ast::CreateIndexStatement& create, ResultSet* result) {
  result->command_tag = "CREATE INDEX";
  SCYPER_ASSIGN_OR_RETURN(auto table, find_table(create.table.name));
  const storage::TableSchema& schema = table->schema();
  if (create.method != "btree" && create.method != "hash")
    return error("42704", absl::StrCat("access method \"", create.method, "\" does not exist"), -1);
  if (create.where != nullptr) return error("0A000", "partial indexes are not supported", create.location);
  if (!create.include.empty()) return error("0A000", "INCLUDE is not supported", create.location);
  if (create.nulls_not_distinct) return error("0A000", "NULLS NOT DISTINCT is not supported", create.location);
  storage::IndexDef index;
  index.unique = create.unique;
  std::string base = schema.name;
  bool any_descending = false;
  for (const auto& element : create.elements) {
    if (element.column.empty()) return error("0A000", "indexes on expressions are not supported", element.location);
    int c = find_column(schema, element.column);
    if (c < 0) return error("42703", absl::StrCat("column \"", element.column, "\" does not exist"), element.location);
    bool descending = element.direction == ast::SortDirection::kDescending;
    if (element.nulls != ast::NullsOrder::kDefault && (element.nulls == ast::NullsOrder::kFirst) != descending)
      return error("0A000", "this NULLS order in an index is not supported", element.location);
    any_descending |= descending;
    index.columns.push_back(static_cast<uint32_t>(c));
    index.descending.push_back(descending);
    absl::StrAppend(&base, "_", element.column);
  }
  if (!any_descending) index.descending.clear();
  index.name = create.name.empty() ? free_index_name(base + "_idx") : create.name;
  if (name_taken(index.name)) {
    if (!create.if_not_exists) return error("42P07", absl::StrCat("relation \"", index.name, "\" already exists"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", index.name, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(check_unique(schema, index));
  if (schema.indexes.size() >= storage::kMaxIndexesPerTable)
    return error("54011", "a table can have at most 16 indexes", -1);
  index.id = IndexId(next().next_index_id++);
  next().index_tables[index.name] = schema.name;
  return table->create_index(std::move(index), format_datum);
}

}  // namespace scyper::query
