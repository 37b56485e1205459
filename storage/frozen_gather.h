#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "row_plan.h"
#include "storage/frozen_chunk.h"
#include "storage/frozen_vector.h"

namespace scyper::storage {

// The cells and NULL bytes of some positions, in order, each to its own place of a chunk's or window's memory that
// begins `first` positions before it: much cheaper than decode() of one after the other.
void gather_column(const FrozenVector& vector, const ColumnAccess& access, std::span<const uint32_t> positions,
                   uint32_t first, char* window) noexcept;

// Some columns of one position, all of whose data is here, to a place of a window or a chunk: as decode_one() of each,
// but what misses the cache is waited for together.
void gather_tuple(const FrozenChunk& chunk, std::span<const ColumnPlan> plans, std::span<const uint32_t> columns,
                  uint32_t position, char* window, uint32_t place) noexcept;

struct PositionRange {
  uint32_t first;
  uint32_t count;
  size_t size() const { return count; }
  uint32_t operator[](size_t i) const { return first + static_cast<uint32_t>(i); }
};
// Of positions that are neighbours, to places from `place` on.
void gather_tuples(const FrozenChunk& chunk, std::span<const ColumnPlan> plans, std::span<const uint32_t> columns,
                   PositionRange positions, char* window, uint32_t place) noexcept;

}  // namespace scyper::storage
