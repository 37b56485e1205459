#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"

namespace scyper::storage {

enum class PageMode : uint8_t { kSmall, kTransparentHuge };

// The one large private mapping that all hot data of a node comes from: few mappings keep fork cheap (findings/memory.md
// 1: 0.47 us per mapping). Address space is reserved once (MAP_NORESERVE), memory is used on touch, blocks are recycled
// within the arena and never unmapped. allocate() returns nullptr when the budget is used up: the caller fails its
// statement with 53200, never the process.
// Threads: any (a mutex inside; called per block of at least 64 KB, not per tuple). Fork: the child may read.
class Arena {
 public:
  static StatusOr<std::unique_ptr<Arena>> create(size_t reserve_bytes, size_t budget_bytes, PageMode mode);
  virtual ~Arena() = default;
  virtual void* allocate(size_t bytes) noexcept = 0;  // zeroed, 4,096-aligned (2 MB-aligned when bytes >= 2 MB in huge mode)
  virtual void free(void* block, size_t bytes) noexcept = 0;
  virtual size_t used_bytes() const noexcept = 0;
  virtual size_t budget_bytes() const noexcept = 0;
  virtual PageMode page_mode() const noexcept = 0;
};

}  // namespace scyper::storage
