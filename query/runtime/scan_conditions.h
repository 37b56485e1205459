#pragma once

#include <span>
#include <vector>

#include "runtime/windows.h"
#include "storage/chunk_cursor.h"

namespace scyper::query {

// The conditions with the bounds' values as the columns hold them; what cannot be told is left out. False: no row can
// pass.
bool read_conditions(std::span<const ChunkCondition> conditions, const Datum* bounds,
                     const storage::TableSchema& schema, std::vector<storage::ColumnCondition>* read) noexcept;

}  // namespace scyper::query
