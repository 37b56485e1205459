#include "jit/code_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "base/check.h"

extern "C" const char __executable_start;  // NOLINT: the linker's name

namespace scyper::query::jit {
namespace {

constexpr size_t kPageBytes = 4096;
// Room between arena and executable, so that neither's neighbours collide.
constexpr size_t kDistanceBytes = size_t{64} << 20;
// All places tried lie within the 2 GB of direct calls.
constexpr int kPlaces = 8;

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }
size_t code_part_bytes(size_t bytes) { return round_up(bytes / 8 * 7, kPageBytes); }

Status system_error(const char* what) {
  return sql_error("58000", std::string("code arena: ") + what + ": " + strerror(errno));
}

int create_memfd() {
  const int fd = memfd_create("scyper-code", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (fd >= 0 || errno != EINVAL) return fd;
  return memfd_create("scyper-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);  // before Linux 6.3
}

// Reserves address space below the executable, where JITLink turns calls of our functions into direct ones; else
// anywhere.
std::byte* reserve(size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(&__executable_start) / kPageBytes * kPageBytes;
  for (int place = 1; place <= kPlaces; ++place) {
    const size_t below = static_cast<size_t>(place) * (bytes + kDistanceBytes);
    if (start <= below + kDistanceBytes) break;
    void* wanted = reinterpret_cast<void*>(start - below);
    void* got =
        mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) return static_cast<std::byte*>(got);
    if (got != MAP_FAILED) munmap(got, bytes);  // a kernel that does not know the flag
  }
  void* got = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return got == MAP_FAILED ? nullptr : static_cast<std::byte*>(got);
}

}  // namespace

StatusOr<std::unique_ptr<CodeArena>> CodeArena::create(size_t bytes) {
  bytes = round_up(bytes < 16 * kPageBytes ? 16 * kPageBytes : bytes, kPageBytes);
  std::unique_ptr<CodeArena> arena(new CodeArena);
  const int fd = create_memfd();
  if (fd < 0) return system_error("memfd_create");
  const auto fail = [&](const char* what) {
    Status status = system_error(what);
    close(fd);
    return status;
  };
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return fail("ftruncate");
  void* alias = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (alias == MAP_FAILED) return fail("writable view");
  arena->alias_ = static_cast<std::byte*>(alias);
  arena->size_bytes_ = bytes;
  if (madvise(alias, bytes, MADV_DONTFORK) != 0) return fail("MADV_DONTFORK");
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) != 0) return fail("seals");
  arena->base_ = reserve(bytes);
  if (arena->base_ == nullptr) return fail("address space");
  const size_t code = code_part_bytes(bytes);
  std::byte* constants = arena->base_ + code;
  if (mmap(arena->base_, code, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    return fail("executable view");
  }
  if (mmap(constants, bytes - code, PROT_READ, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(code)) == MAP_FAILED) {
    return fail("read-only view");
  }
  close(fd);
  // the first granule stays unused: what looks at bytes in front of a function stays inside the mapping
  absl::MutexLock lock(&arena->mutex_);
  arena->free_[0][arena->base_ + kGranuleBytes] = code - kGranuleBytes;
  arena->free_[1][constants] = bytes - code;
  return arena;
}

CodeArena::~CodeArena() {
  if (alias_ != nullptr) munmap(alias_, size_bytes_);
  if (base_ != nullptr) munmap(base_, size_bytes_);
}

StatusOr<CodeArena::Range> CodeArena::allocate(Part part, size_t bytes, size_t alignment) {
  CHECK(bytes != 0 && alignment <= kPageBytes);
  bytes = round_up(bytes, kGranuleBytes);
  alignment = alignment < kGranuleBytes ? kGranuleBytes : alignment;
  absl::MutexLock lock(&mutex_);
  auto& free = free_[static_cast<size_t>(part)];
  for (auto it = free.begin(); it != free.end(); ++it) {  // first fit; neighbours are merged, so the list is short
    std::byte* const start = it->first;
    std::byte* const end = start + it->second;
    auto* address = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(start), alignment));
    if (address >= end || static_cast<size_t>(end - address) < bytes) continue;
    free.erase(it);
    if (address != start) free[start] = static_cast<size_t>(address - start);
    if (address + bytes != end) free[address + bytes] = static_cast<size_t>(end - address) - bytes;
    used_bytes_ += bytes;
    return Range{.address = address, .writable = alias_ + (address - base_), .bytes = bytes};
  }
  return with_hint(sql_error("53200", "out of memory for compiled code"), "Raise the size of the code arena.");
}

void CodeArena::free(Part part, std::byte* address, size_t bytes) {
  bytes = round_up(bytes, kGranuleBytes);
  CHECK(contains(address) && contains(address + bytes - 1));
  absl::MutexLock lock(&mutex_);
  CHECK(used_bytes_ >= bytes);
  ++last_freed_;
  if (!retain_) return recycle(part, address, bytes);
  retained_.push_back({.number = last_freed_, .part = part, .address = address, .bytes = bytes});
  retained_bytes_ += bytes;
}

void CodeArena::recycle(Part part, std::byte* address, size_t bytes) {
  memset(alias_ + (address - base_), 0xCC, bytes);  // a stale jump traps
  used_bytes_ -= bytes;
  auto& free = free_[static_cast<size_t>(part)];
  const auto [it, inserted] = free.emplace(address, bytes);
  CHECK(inserted);
  const auto next = std::next(it);
  if (next != free.end()) {
    CHECK(address + bytes <= next->first);
    if (address + bytes == next->first) {
      it->second += next->second;
      free.erase(next);
    }
  }
  if (it == free.begin()) return;
  const auto previous = std::prev(it);
  CHECK(previous->first + previous->second <= address);
  if (previous->first + previous->second != address) return;
  previous->second += it->second;
  free.erase(it);
}

void CodeArena::retain_freed(bool retain) {
  absl::MutexLock lock(&mutex_);
  retain_ = retain;
}

uint64_t CodeArena::freed_number() const {
  absl::MutexLock lock(&mutex_);
  return last_freed_;
}

void CodeArena::reclaim(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  while (!retained_.empty() && retained_.front().number <= number) {
    const Freed freed = retained_.front();
    retained_.pop_front();
    retained_bytes_ -= freed.bytes;
    recycle(freed.part, freed.address, freed.bytes);
  }
}

size_t CodeArena::used_bytes() const {
  absl::MutexLock lock(&mutex_);
  return used_bytes_;
}

size_t CodeArena::retained_bytes() const {
  absl::MutexLock lock(&mutex_);
  return retained_bytes_;
}

}  // namespace scyper::query::jit
