#pragma once

#include <cstdint>
#include <span>

#include "storage/frozen_vector.h"

namespace scyper::storage {

// The cells and NULL bytes of some positions, in order, each to its own place of a chunk's or window's memory that
// begins `first` positions before it: much cheaper than decode() of one after the other.
void gather_column(const FrozenVector& vector, const ColumnAccess& access, std::span<const uint32_t> positions,
                   uint32_t first, char* window) noexcept;

}  // namespace scyper::storage
