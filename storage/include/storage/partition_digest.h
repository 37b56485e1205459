#pragma once

#include "storage/table.h"

namespace scyper::storage {

// What one partition adds to table_digest(). Fork: the child may call it.
StatusOr<Digest> partition_digest(const Table& table, uint32_t partition);

}  // namespace scyper::storage
