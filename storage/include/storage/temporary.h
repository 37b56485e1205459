#pragma once

#include <cstdint>

#include "base/strong.h"

namespace scyper::storage {

// Tables, indexes and sequences from this number on are temporary: in no redo, archive or digest, so replay never meets
// their numbers. They come from a counter of the process, not from the catalog.
constexpr uint32_t kFirstTemporaryId = uint32_t{1} << 30;

template <typename Tag>
constexpr bool is_temporary(Strong<Tag, uint32_t> id) {
  return id.value() >= kFirstTemporaryId;
}

}  // namespace scyper::storage
