#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "query/catalog.h"
#include "query/database.h"

namespace scyper::query {

// Whether rows of the table have to be checked, or have columns that are computed.
bool has_rules(const TableRules& rules);

// Row after row through an INSERT, which knows the table's rules. All or nothing. redo: null, or gets the row changes.
Status load_by_insert(Database* database, const storage::TableSchema& schema, const TableRules& rules,
                      std::span<const Datum> values, std::string* redo);

}  // namespace scyper::query
