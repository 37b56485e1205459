#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"

namespace scyper::storage {

// What frozen memory is made of, best first.
enum class FrozenPages : uint8_t {
  kReservedHuge,     // 2 MB from the operator's pool (hugetlb)
  kTransparentHuge,  // 2 MB where the kernel finds them (shared memory)
  kSmall,
};
constexpr uint32_t kFrozenPageKinds = 3;
const char* pages_name(FrozenPages pages);

// Number of a snapshot's pin; later ones are larger.
using FrozenPin = uint64_t;

// Memory of frozen chunks: shared mappings, so that a fork neither copies nor counts them (findings: 0.06 ms whatever
// their size). At most one arena per kind of pages, each mapped twice: everybody reads at the addresses that
// allocate() gives, writable() is the view that only this process has. A block is written once, before its address is
// handed to any reader.
// Reuse: retire() says that the parent no longer reaches a block. It is free when every snapshot has gone that was
// pinned before: a child forked before may still read it. pin() before the fork, unpin() when the child is reaped.
// Invariants: (1) no write to a block between publishing and the moment it is free; (2) a block that is free or never
// used is reachable by nobody; (3) an arena grows only by pages that the system has granted (fallocate), so that no
// touch can fail.
// Units: bytes, rounded up to kFrozenGranuleBytes.
// Threads: any (a mutex inside). Fork: between begin_fork() and end_fork(), as Arena; the child may read blocks and
// must call nothing else: it does not have the writable view.
// Source: Funke et al., VLDB 2012, section 3.3 (huge pages for frozen chunks). There private; we share them, because a
// private huge page that is written after a fork takes 2 MB, and its absence ends the child.
class FrozenMemory {
 public:
  static constexpr size_t kFrozenGranuleBytes = 4096;

  struct Usage {
    size_t used_bytes = 0;                                 // blocks that are allocated
    size_t retired_bytes = 0;                              // of these: waiting for snapshots
    std::array<size_t, kFrozenPageKinds> granted_bytes{};  // by kind of pages, from the system
    uint64_t snapshots = 0;                                // pinned
  };

  // best: kinds before it are not tried. Nothing is taken from the system yet but address space of budget_bytes.
  static StatusOr<std::unique_ptr<FrozenMemory>> create(size_t budget_bytes,
                                                        FrozenPages best = FrozenPages::kReservedHuge);
  ~FrozenMemory();
  FrozenMemory(const FrozenMemory&) = delete;
  FrozenMemory& operator=(const FrozenMemory&) = delete;

  // For reading; undefined content. nullptr: budget or system exhausted.
  const char* allocate(size_t bytes) noexcept;
  char* writable(const char* block) noexcept;
  void retire(const char* block, size_t bytes) noexcept;

  FrozenPin pin() noexcept;
  void unpin(FrozenPin pin) noexcept;

  void begin_fork() noexcept;
  void end_fork() noexcept;

  Usage usage() const noexcept;
  size_t budget_bytes() const noexcept;

 private:
  class State;
  explicit FrozenMemory(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace scyper::storage
