#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "parse/ast.h"
#include "query/catalog.h"

namespace scyper::query {

// A column of jsonb_to_record[set](...) AS t (name type, ...) or of jsonb_populate_record[set](NULL::table, ...).
struct JsonColumn {
  std::string name;
  SqlType type;
  uint32_t domain = 0;           // its values are of
  std::string domain_name = {};  // key
};

// Is it one of these functions?
bool gives_json_records(const ast::FromFunction& item);
StatusOr<std::vector<JsonColumn>> json_columns(const ast::FromFunction& item, const Catalog& catalog,
                                               std::string_view source);
// The query that it stands for. Columns of strings come as text.
std::string json_records_query(const ast::FromFunction& item, const std::vector<JsonColumn>& columns);

}  // namespace scyper::query
