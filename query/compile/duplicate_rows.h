#pragma once

#include <string>

#include "query/key_rules.h"
#include "query/result.h"

// Rows that are duplicates by a key's rules (query/key_rules.h), where its index does not find them: for keys that come
// to a table with rows.
namespace scyper::query {

// One row, the texts of the first such key; of a key whose index finds all of them: empty.
std::string duplicates_query(const storage::TableSchema& schema, const storage::IndexDef& index, const KeyRules& rules);
// 23505 where that query has found one.
Status check_duplicates(const storage::TableSchema& schema, const storage::IndexDef& index, const ResultSet& found);

}  // namespace scyper::query
