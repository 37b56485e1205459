#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"

namespace scyper::query::jit {

// Memory for native code that forked children share: what the parent links after a fork runs in every child, older ones
// too. One memfd, mapped twice: children inherit the executable (and the read-only) view; the writable alias exists in
// the parent alone. Sealed, so that no other writable mapping can be made, by nobody. Invariants: (1) an address that
// was handed out is reused only after free() and, while retain_freed(true), after reclaim():
//   some child may still run it; (2) no page is ever writable and executable at one address; (3) protections never
//   change after create().
// Units: bytes; ranges are multiples of kGranuleBytes. The first 7/8 hold code (r-x), the rest constants (r--).
// Owner: the node; create it before the first fork and before other threads start.
// Threads: all calls are thread-safe. Fork: a child runs code and calls nothing here.
// Source: measured recipe for LLVM 19 and Linux 6 (order of sealing and mapping matters: an executable view that is
// mapped
//   before the seal can be made writable by mprotect).
class CodeArena {
 public:
  static constexpr size_t kGranuleBytes = 64;
  enum class Part : uint8_t { kCode, kConstants };

  struct Range {
    std::byte* address = nullptr;   // where it runs
    std::byte* writable = nullptr;  // the same bytes, in the parent
    size_t bytes = 0;
  };

  static StatusOr<std::unique_ptr<CodeArena>> create(size_t bytes);
  ~CodeArena();
  CodeArena(const CodeArena&) = delete;
  CodeArena& operator=(const CodeArena&) = delete;

  // 53200 when nothing is free. `alignment` up to a page.
  StatusOr<Range> allocate(Part part, size_t bytes, size_t alignment);
  void free(Part part, std::byte* address, size_t bytes);

  // While children live that were told addresses: freed ranges stay untouched until reclaim().
  void retain_freed(bool retain);
  // Every range freed up to now has a number up to this one.
  uint64_t freed_number() const;
  // No child can run the ranges freed up to `number` any more: all that were told of them have answered or were reaped.
  void reclaim(uint64_t number);

  size_t size_bytes() const { return size_bytes_; }
  size_t used_bytes() const;      // allocated and retained
  size_t retained_bytes() const;  // freed, not yet reclaimed
  bool contains(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    return byte >= base_ && byte < base_ + size_bytes_;
  }

 private:
  struct Freed {
    uint64_t number;
    Part part;
    std::byte* address;
    size_t bytes;
  };

  CodeArena() = default;
  void recycle(Part part, std::byte* address, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::byte* base_ = nullptr;   // constant after construction, as are the next two
  std::byte* alias_ = nullptr;  // writable view of base_
  size_t size_bytes_ = 0;
  mutable absl::Mutex mutex_;
  std::map<std::byte*, size_t> free_[2] ABSL_GUARDED_BY(mutex_);  // by part: address -> bytes, neighbours merged
  std::deque<Freed> retained_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_freed_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t retained_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool retain_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace scyper::query::jit
