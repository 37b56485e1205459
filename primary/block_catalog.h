#pragma once

#include "query/catalog.h"
#include "tentative_block.h"

namespace scyper::primary {

// Whether what a block has changed still means the same after definitions by others: its tables, their rules, and the
// foreign keys that refer to them. 40001.
Status check_block_catalog(const TentativeBlock& block, const query::Catalog& now);

}  // namespace scyper::primary
