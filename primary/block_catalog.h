#pragma once

#include <string_view>

#include "query/catalog.h"
#include "tentative_block.h"

namespace scyper::primary {

// Whether what a block has changed still means the same after definitions by others: its tables, their rules, and the
// foreign keys that refer to them. 40001.
Status check_block_catalog(const TentativeBlock& block, const query::Catalog& now);

// Whether rows of the table may concern rows of others: by foreign keys, or what triggers do. table: its key.
bool has_references(const query::Catalog& catalog, std::string_view table);

}  // namespace scyper::primary
