#pragma once

#include <span>

#include "storage/chunk_cursor.h"

namespace scyper::storage {

// Takes the first condition and its alternatives off a conjunction (ChunkScan::conditions), which is not empty.
inline std::span<const ColumnCondition> take_term(std::span<const ColumnCondition>* conditions) noexcept {
  size_t count = 1;
  while ((*conditions)[count - 1].has_alternative) ++count;
  const std::span<const ColumnCondition> term = conditions->first(count);
  *conditions = conditions->subspan(count);
  return term;
}

}  // namespace scyper::storage
