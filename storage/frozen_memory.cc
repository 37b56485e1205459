#include "storage/frozen_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/check.h"
#include "base/mutex.h"
#include "shared_huge_pages.h"
#include "storage/arena.h"

namespace scyper::storage {
namespace {

constexpr size_t kGranule = FrozenMemory::kFrozenGranuleBytes;
constexpr unsigned kHugeTlb2MB = 21u << 26;  // MFD_HUGE_2MB, which glibc's headers do not have
// The kernel shares page tables of hugetlb mappings between processes by pieces of 1 GB.
constexpr size_t kAlign = size_t{1} << 30;
constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// One memfd of one kind of pages, its read view and its write view. Free space: extents, merged.
class SharedArena {
 public:
  // Null when the system has no such memory at all.
  static std::unique_ptr<SharedArena> create(FrozenPages pages, size_t reserve_bytes) {
    const bool is_reserved = pages == FrozenPages::kReservedHuge;
    const int fd = memfd_create("scyper-frozen", MFD_CLOEXEC | (is_reserved ? MFD_HUGETLB | kHugeTlb2MB : 0u));
    if (fd < 0) return nullptr;
    reserve_bytes = round_up(reserve_bytes, kHugePageBytes);
    auto arena = std::unique_ptr<SharedArena>(new SharedArena(fd, pages, reserve_bytes));
    if (ftruncate(fd, static_cast<off_t>(reserve_bytes)) != 0) return nullptr;
    if (!arena->map(PROT_READ, &arena->read_) || !arena->map(PROT_READ | PROT_WRITE, &arena->write_)) return nullptr;
    if (madvise(arena->write_, reserve_bytes, MADV_DONTFORK) != 0) return nullptr;
    if (pages == FrozenPages::kTransparentHuge && !arena->advise_huge()) return nullptr;
    return arena;
  }
  ~SharedArena() {
    if (read_ != nullptr) munmap(read_, reserve_bytes_);
    if (write_ != nullptr) munmap(write_, reserve_bytes_);
    close(fd_);
  }
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  // First fit by size; grows where nothing fits. False: not granted.
  bool allocate(size_t bytes, size_t* offset) {
    auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      if (!grow(bytes)) return false;
      fit = by_size_.lower_bound({bytes, 0});
    }
    const auto [size, begin] = *fit;
    CHECK(size >= bytes);
    by_size_.erase(fit);
    by_offset_.erase(begin);
    if (size > bytes) add(begin + bytes, size - bytes);
    *offset = begin;
    return true;
  }
  void free(size_t offset, size_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    CHECK(offset + bytes <= granted_bytes_ && (next == by_offset_.end() || offset + bytes <= next->first));
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = erase(next);
    }
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      CHECK(before->first + before->second <= offset);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        erase(before);
      }
    }
    add(offset, bytes);
  }
  bool contains(const char* block) const { return block >= read_ && block < read_ + reserve_bytes_; }
  const char* read_view() const { return read_; }
  char* write_view() const { return write_; }
  size_t granted_bytes() const { return granted_bytes_; }
  FrozenPages pages() const { return pages_; }

 private:
  SharedArena(int fd, FrozenPages pages, size_t reserve_bytes)
      : fd_(fd), pages_(pages), reserve_bytes_(reserve_bytes) {}

  // Aligned to kAlign: reserves more, cuts, and maps over the rest.
  bool map(int protection, char** view) {
    const size_t wide = reserve_bytes_ + kAlign;
    void* space = mmap(nullptr, wide, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return false;
    char* start = static_cast<char*>(space);
    char* aligned = start + (round_up(reinterpret_cast<size_t>(space), kAlign) - reinterpret_cast<size_t>(space));
    if (aligned > start) munmap(start, static_cast<size_t>(aligned - start));
    munmap(aligned + reserve_bytes_, static_cast<size_t>(start + wide - aligned - reserve_bytes_));
    void* mapped = mmap(aligned, reserve_bytes_, protection, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd_, 0);
    if (mapped == MAP_FAILED) {
      munmap(aligned, reserve_bytes_);
      return false;
    }
    *view = aligned;
    return true;
  }

  // Whether the kernel makes huge pages of shared memory: one page is tried and, if it does, kept as the first. With
  // shmem_enabled = never the pages can be collapsed by hand (MADV_COLLAPSE, from 6.1).
  bool advise_huge() {
    madvise(read_, reserve_bytes_, MADV_HUGEPAGE);
    madvise(write_, reserve_bytes_, MADV_HUGEPAGE);
    return grow(kHugePageBytes);
  }

  bool grow(size_t bytes) {
    const size_t begin = granted_bytes_;
    const size_t wanted = round_up(bytes, kHugePageBytes);
    if (wanted > reserve_bytes_ - begin) return false;
    const auto at = static_cast<off_t>(begin);
    if (pages_ != FrozenPages::kTransparentHuge) {
      if (fallocate(fd_, 0, at, static_cast<off_t>(wanted)) != 0) return false;
    } else if (!grant_huge_pages(fd_, write_, begin, wanted)) {
      // the kernel has none to give: the pages stay small, and later ones go to the arena of small pages
      fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, static_cast<off_t>(wanted));
      return false;
    }
    granted_bytes_ = begin + wanted;
    free(begin, wanted);
    return true;
  }

  void add(size_t offset, size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  std::map<size_t, size_t>::iterator erase(std::map<size_t, size_t>::iterator extent) {
    by_size_.erase({extent->second, extent->first});
    return by_offset_.erase(extent);
  }

  const int fd_;
  const FrozenPages pages_;
  const size_t reserve_bytes_;
  char* read_ = nullptr;
  char* write_ = nullptr;
  size_t granted_bytes_ = 0;
  std::map<size_t, size_t> by_offset_;
  std::set<std::pair<size_t, size_t>> by_size_;
};

}  // namespace

const char* pages_name(FrozenPages pages) {
  static constexpr const char* kNames[kFrozenPageKinds] = {"reserved huge", "transparent huge", "small"};
  return kNames[static_cast<uint32_t>(pages)];
}

class FrozenMemory::State {
 public:
  State(size_t budget_bytes, FrozenPages best) : budget_bytes_(budget_bytes), best_(best) {}

  const char* allocate(size_t bytes) {
    bytes = round_up(bytes, kGranule);
    MutexLock lock(&mutex_);
    if (bytes > budget_bytes_ || usage_.used_bytes > budget_bytes_ - bytes) return nullptr;
    for (auto kind = static_cast<uint32_t>(best_); kind < kFrozenPageKinds; ++kind) {
      size_t offset;
      SharedArena* arena = arena_of(kind);
      if (arena == nullptr || !arena->allocate(bytes, &offset)) continue;
      usage_.used_bytes += bytes;
      return arena->read_view() + offset;
    }
    return nullptr;
  }

  char* writable(const char* block) {
    MutexLock lock(&mutex_);
    SharedArena* arena = find(block);
    return arena->write_view() + (block - arena->read_view());
  }

  void retire(const char* block, size_t bytes) {
    bytes = round_up(bytes, kGranule);
    MutexLock lock(&mutex_);
    CHECK(find(block) != nullptr && usage_.used_bytes >= usage_.retired_bytes + bytes);
    usage_.retired_bytes += bytes;
    retired_.emplace(next_pin_, std::pair(block, bytes));
    free_unseen();
  }

  FrozenPin pin() {
    MutexLock lock(&mutex_);
    pins_.insert(next_pin_);
    return next_pin_++;
  }
  void unpin(FrozenPin pin) {
    MutexLock lock(&mutex_);
    CHECK(pins_.erase(pin) == 1);
    free_unseen();
  }

  void begin_fork() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.lock(); }
  void end_fork() ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.unlock(); }

  Usage usage() {
    MutexLock lock(&mutex_);
    Usage usage = usage_;
    for (uint32_t i = 0; i < kFrozenPageKinds; ++i) {
      usage.granted_bytes[i] = arenas_[i] == nullptr ? 0 : arenas_[i]->granted_bytes();
    }
    usage.snapshots = pins_.size();
    return usage;
  }
  size_t budget_bytes() const { return budget_bytes_; }

 private:
  // Made when it is needed first; a kind that the system does not have is not asked for again.
  SharedArena* arena_of(uint32_t kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!is_tried_[kind]) {
      is_tried_[kind] = true;
      arenas_[kind] = SharedArena::create(static_cast<FrozenPages>(kind), budget_bytes_ + kHugePageBytes);
    }
    return arenas_[kind].get();
  }
  SharedArena* find(const char* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto& arena : arenas_) {
      if (arena != nullptr && arena->contains(block)) return arena.get();
    }
    CHECK(!"a block of frozen memory");
    return nullptr;
  }
  // Blocks retired before the oldest pin was taken, or with no pin left.
  void free_unseen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!retired_.empty() && (pins_.empty() || retired_.begin()->first <= *pins_.begin())) {
      const auto [block, bytes] = retired_.begin()->second;
      SharedArena* arena = find(block);
      arena->free(static_cast<size_t>(block - arena->read_view()), bytes);
      usage_.used_bytes -= bytes;
      usage_.retired_bytes -= bytes;
      retired_.erase(retired_.begin());
    }
  }

  const size_t budget_bytes_;
  const FrozenPages best_;
  Mutex mutex_;
  Usage usage_ ABSL_GUARDED_BY(mutex_);  // used_bytes, retired_bytes
  std::array<std::unique_ptr<SharedArena>, kFrozenPageKinds> arenas_ ABSL_GUARDED_BY(mutex_);
  std::array<bool, kFrozenPageKinds> is_tried_ ABSL_GUARDED_BY(mutex_) = {};
  FrozenPin next_pin_ ABSL_GUARDED_BY(mutex_) = 1;
  std::set<FrozenPin> pins_ ABSL_GUARDED_BY(mutex_);
  // By the next pin when it was retired: pins below it may still see the block.
  std::multimap<FrozenPin, std::pair<const char*, size_t>> retired_ ABSL_GUARDED_BY(mutex_);
};

FrozenMemory::FrozenMemory(std::unique_ptr<State> state) : state_(std::move(state)) {}
FrozenMemory::~FrozenMemory() = default;

StatusOr<std::unique_ptr<FrozenMemory>> FrozenMemory::create(size_t budget_bytes, FrozenPages best) {
  if (budget_bytes == 0) return sql_error("53200", "frozen memory needs a budget");
  return std::unique_ptr<FrozenMemory>(
      new FrozenMemory(std::make_unique<State>(round_up(budget_bytes, kGranule), best)));
}

const char* FrozenMemory::allocate(size_t bytes) noexcept {
  CHECK(bytes > 0);
  return state_->allocate(bytes);
}
char* FrozenMemory::writable(const char* block) noexcept { return state_->writable(block); }
void FrozenMemory::retire(const char* block, size_t bytes) noexcept { state_->retire(block, bytes); }
FrozenPin FrozenMemory::pin() noexcept { return state_->pin(); }
void FrozenMemory::unpin(FrozenPin pin) noexcept { state_->unpin(pin); }
void FrozenMemory::begin_fork() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS { state_->begin_fork(); }
void FrozenMemory::end_fork() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS { state_->end_fork(); }
FrozenMemory::Usage FrozenMemory::usage() const noexcept { return state_->usage(); }
size_t FrozenMemory::budget_bytes() const noexcept { return state_->budget_bytes(); }

}  // namespace scyper::storage
