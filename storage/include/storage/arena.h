#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"

namespace scyper::storage {

enum class PageMode : uint8_t {
  kSmall,
  kTransparentHuge,  // copy-on-write after a fork splits them into small ones
  // From the pool that the operator reserves (vm.nr_hugepages): never split, copied whole. The budget is taken from the
  // pool when the arena is made. What is copied while children live comes from the rest of the pool; when that is used
  // up, the kernel takes the page from the children, and ends (SIGBUS) those that then touch it: never this process.
  kReservedHuge,
};

// Every block is a multiple of this: small enough that a little table wastes little, large enough that the lock and the
// free lists do not show.
constexpr size_t kArenaGranuleBytes = size_t{64} << 10;
constexpr size_t kHugePageBytes = size_t{2} << 20;

// The one large private mapping that all hot data of a node comes from: few mappings keep fork cheap
// (findings/memory.md 1: 0.47 us per mapping). Address space is reserved once (MAP_NORESERVE), memory is used on touch,
// blocks are recycled within the arena and never unmapped (a first touch after giving memory back costs more than
// clearing it). allocate() returns nullptr when the budget is used up: the caller fails its statement with 53200, never
// the process. The last part of the budget is for changes that free memory (memory_reserve.h). Units: sizes are rounded
// up to kArenaGranuleBytes; used_bytes and the budget count rounded sizes. Threads: any (a mutex inside; called per
// block of at least 64 KB, not per tuple). Fork: the child may read.
class Arena {
 public:
  // kReservedHuge: address space for the budget alone. 53200 when the address space or the pool of huge pages is too
  // small.
  static StatusOr<std::unique_ptr<Arena>> create(size_t reserve_bytes, size_t budget_bytes, PageMode mode);
  virtual ~Arena() = default;
  // Zeroed, aligned to 64 KB (to 2 MB when bytes >= 2 MB, unless pages are small).
  virtual void* allocate(size_t bytes) noexcept = 0;
  // bytes: as asked for in allocate().
  virtual void free(void* block, size_t bytes) noexcept = 0;
  // From now on a thread keeps the next fresh pages faulted in: as much again as is in use, at most 64 MB. Called at
  // most once, by the owner. Stays within the budget; used_bytes() does not count what is only faulted in.
  virtual void fault_ahead() = 0;
  // kReservedHuge, else without effect: from now on a thread copies the pages that a forked child shares before
  // somebody has to wait for it (copy_ahead.h). Called at most once, by the owner.
  virtual void copy_ahead(uint64_t bytes_per_second) = 0;
  // Around fork(), in the parent and in the child: meanwhile nobody else allocates or frees, so that the child finds
  // the arena whole and its lock free.
  virtual void begin_fork() noexcept = 0;
  virtual void end_fork() noexcept = 0;
  // Where copy_ahead() was called: `child` has been forked, and not been waited for.
  virtual void forked(pid_t child) noexcept = 0;
  virtual uint64_t pages_copied_ahead() const noexcept = 0;
  virtual size_t used_bytes() const noexcept = 0;
  virtual size_t budget_bytes() const noexcept = 0;
  virtual PageMode page_mode() const noexcept = 0;
};

}  // namespace scyper::storage
