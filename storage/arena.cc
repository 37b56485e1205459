#include "storage/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "base/check.h"
#include "base/mutex.h"
#include "copy_ahead.h"
#include "page_ahead.h"
#include "poison.h"
#include "storage/memory_reserve.h"

namespace scyper::storage {
namespace {

// Debian builds Abseil without NDEBUG: unless told so, each lock of an absl::Mutex, gRPC's among them, takes one spin
// lock of the whole process to look for deadlocks. Threads queue there, and a child that is forked meanwhile finds it
// taken for ever. Set before main(), in every process that has an arena.
[[maybe_unused]] const bool kLocksAreTheirOwn = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return true;
}();

constexpr int kHugePageShift = 21;
static_assert(size_t{1} << kHugePageShift == kHugePageBytes);

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// Free space is kept as extents of granules, merged with their neighbours; all above high_water_ is free too.
// Invariants: (1) extents neither overlap nor touch; (2) by_size_ holds the same extents as by_offset_; (3) a granule
// of a free extent whose dirty_ flag is off reads as zero.
class MappedArena final : public Arena {
 public:
  MappedArena(char* base, size_t reserve_bytes, size_t budget_bytes, PageMode mode)
      : base_(base), reserve_bytes_(reserve_bytes), budget_bytes_(budget_bytes), mode_(mode) {
    if (mode_ == PageMode::kReservedHuge) count_reserved_mapping(1);
  }
  ~MappedArena() override {
    {
      MutexLock lock(&mutex_);
      ahead_.reset();
      copies_.reset();
    }
    unpoison(base_, reserve_bytes_);
    munmap(base_, reserve_bytes_);
    if (mode_ == PageMode::kReservedHuge) count_reserved_mapping(-1);
  }

  void* allocate(size_t bytes) noexcept override {
    if (bytes == 0 || bytes > reserve_bytes_) return nullptr;
    bytes = round_up(bytes, kArenaGranuleBytes);
    const size_t align = mode_ != PageMode::kSmall && bytes >= kHugePageBytes ? kHugePageBytes : kArenaGranuleBytes;
    absl::InlinedVector<Extent, 4> dirty;
    size_t offset;
    {
      MutexLock lock(&mutex_);
      const size_t budget = ReserveScope::is_open() ? budget_bytes_ : budget_bytes_ - reserved_bytes(budget_bytes_);
      if (bytes > budget || used_bytes_.load(std::memory_order_relaxed) > budget - bytes) return nullptr;
      if (!take_extent(bytes, align, &offset)) return nullptr;
      used_bytes_.fetch_add(bytes, std::memory_order_relaxed);
      collect_dirty(offset, bytes, &dirty);
      if (ahead_ != nullptr) ahead_->reached(high_water_);
    }
    unpoison(base_ + offset, bytes);
    for (const Extent& run : dirty) std::memset(base_ + run.offset, 0, run.bytes);  // ours already: not under the lock
    return base_ + offset;
  }

  void free(void* block, size_t bytes) noexcept override {
    const size_t offset = static_cast<size_t>(static_cast<char*>(block) - base_);
    bytes = round_up(bytes, kArenaGranuleBytes);
    CHECK(bytes > 0 && offset < reserve_bytes_ && offset % kArenaGranuleBytes == 0);
    MutexLock lock(&mutex_);
    CHECK(offset + bytes <= high_water_);
    for (size_t i = offset; i < offset + bytes; i += kArenaGranuleBytes) dirty_[i / kArenaGranuleBytes] = true;
    put_extent(offset, bytes);
    used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    poison(block, bytes);
  }

  void fault_ahead() override {
    MutexLock lock(&mutex_);
    ahead_ = std::make_unique<PageAhead>(base_, std::min(reserve_bytes_, budget_bytes_));
    ahead_->reached(high_water_);
  }

  void copy_ahead(uint64_t bytes_per_second) override {
    if (mode_ == PageMode::kReservedHuge && bytes_per_second > 0) {
      copies_ = std::make_unique<CopyAhead>(base_, reserve_bytes_, bytes_per_second);
    }
  }
  void begin_fork() noexcept override ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.lock(); }
  void end_fork() noexcept override ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.unlock(); }
  // With the pages that are faulted in ahead: the child shares them, and they are written next.
  void forked(pid_t child) noexcept override {
    if (copies_ == nullptr) return;
    size_t bytes;
    {
      MutexLock lock(&mutex_);
      bytes = round_up(high_water_, kHugePageBytes);
      if (ahead_ != nullptr) bytes = std::max(bytes, ahead_->ready_bytes());
    }
    copies_->forked(child, bytes);
  }
  uint64_t pages_copied_ahead() const noexcept override { return copies_ == nullptr ? 0 : copies_->pages_copied(); }

  size_t used_bytes() const noexcept override { return used_bytes_.load(std::memory_order_relaxed); }
  size_t budget_bytes() const noexcept override { return budget_bytes_; }
  PageMode page_mode() const noexcept override { return mode_; }

 private:
  struct Extent {
    size_t offset;
    size_t bytes;
  };

  // Best fit among the free extents, else above high_water_. What alignment leaves over goes back.
  bool take_extent(size_t bytes, size_t align, size_t* offset) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto it = by_size_.lower_bound({bytes, 0}); it != by_size_.end(); ++it) {
      const auto [size, start] = *it;
      const size_t aligned = round_up(start, align);
      if (aligned + bytes > start + size) continue;
      by_size_.erase(it);
      by_offset_.erase(start);
      if (aligned > start) put_extent(start, aligned - start);
      if (start + size > aligned + bytes) put_extent(aligned + bytes, start + size - aligned - bytes);
      *offset = aligned;
      return true;
    }
    const size_t aligned = round_up(high_water_, align);
    if (aligned > reserve_bytes_ || bytes > reserve_bytes_ - aligned) return false;
    const size_t gap = high_water_;
    high_water_ = aligned + bytes;
    if (high_water_ / kArenaGranuleBytes > dirty_.size()) dirty_.resize(high_water_ / kArenaGranuleBytes, false);
    if (aligned > gap) put_extent(gap, aligned - gap);
    *offset = aligned;
    return true;
  }

  void put_extent(size_t offset, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto next = by_offset_.lower_bound(offset);
    CHECK(next == by_offset_.end() || offset + bytes <= next->first);  // else freed twice, or with a wrong size
    if (next != by_offset_.begin()) {
      auto before = std::prev(next);
      CHECK(before->first + before->second <= offset);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        by_size_.erase({before->second, before->first});
        by_offset_.erase(before);
      }
    }
    if (next != by_offset_.end() && offset + bytes == next->first) {
      bytes += next->second;
      by_size_.erase({next->second, next->first});
      by_offset_.erase(next);
    }
    if (offset + bytes == high_water_) {
      high_water_ = offset;
      return;
    }
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }

  // The runs of granules that hold somebody's old bytes.
  void collect_dirty(size_t offset, size_t bytes, absl::InlinedVector<Extent, 4>* runs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (size_t at = offset; at < offset + bytes; at += kArenaGranuleBytes) {
      if (!dirty_[at / kArenaGranuleBytes]) continue;
      if (!runs->empty() && runs->back().offset + runs->back().bytes == at) {
        runs->back().bytes += kArenaGranuleBytes;
      } else {
        runs->push_back({at, kArenaGranuleBytes});
      }
    }
  }

  char* const base_;
  const size_t reserve_bytes_;
  const size_t budget_bytes_;
  const PageMode mode_;
  std::unique_ptr<CopyAhead> copies_;  // constant after copy_ahead()

  Mutex mutex_;
  std::atomic<size_t> used_bytes_{0};  // written under mutex_; relaxed reads elsewhere are for display
  size_t high_water_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<size_t, size_t> by_offset_ ABSL_GUARDED_BY(mutex_);           // offset -> bytes
  std::set<std::pair<size_t, size_t>> by_size_ ABSL_GUARDED_BY(mutex_);  // (bytes, offset)
  std::unique_ptr<PageAhead> ahead_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> dirty_ ABSL_GUARDED_BY(mutex_);  // per granule, up to the highest ever used
};

// Without MAP_NORESERVE: the pages are this mapping's from now on, so that no touch can fail.
StatusOr<char*> map_reserved_pages(size_t bytes) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (kHugePageShift << MAP_HUGE_SHIFT), -1, 0);
  if (mapped != MAP_FAILED) return static_cast<char*>(mapped);
  const int error = errno;
  const HugePagePool pool = read_huge_page_pool();
  std::string message =
      "pages = reserved: " + std::to_string(bytes / kHugePageBytes) + " huge pages of 2 MB are needed";
  if (pool.is_known) {
    message += ", the system has reserved " + std::to_string(pool.total) + ", of which " +
               std::to_string(pool.available()) + " are left";
  }
  return with_hint(
      sql_error("53200", message + ": " + std::strerror(error)),
      "Raise vm.nr_hugepages, with room for the copies that snapshots and archives cost, or lower memory.");
}

}  // namespace

StatusOr<std::unique_ptr<Arena>> Arena::create(size_t reserve_bytes, size_t budget_bytes, PageMode mode) {
  if (mode == PageMode::kReservedHuge) {
    const size_t bytes = round_up(std::min(reserve_bytes, budget_bytes), kHugePageBytes);
    SCYPER_ASSIGN_OR_RETURN(char* base, map_reserved_pages(bytes));
    return std::make_unique<MappedArena>(base, bytes, budget_bytes, mode);
  }
  reserve_bytes = round_up(reserve_bytes, kHugePageBytes);
  const size_t mapped_bytes = reserve_bytes + kHugePageBytes;  // room to align the start
  void* mapped =
      mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return sql_error("53200", "could not reserve " + std::to_string(reserve_bytes) +
                                  " bytes of address space: " + std::strerror(errno));
  }
  char* start = static_cast<char*>(mapped);
  char* base = reinterpret_cast<char*>(round_up(reinterpret_cast<size_t>(mapped), kHugePageBytes));
  if (base > start) munmap(start, static_cast<size_t>(base - start));
  char* end = start + mapped_bytes;
  if (end > base + reserve_bytes) munmap(base + reserve_bytes, static_cast<size_t>(end - base - reserve_bytes));
  // Advice may fail on a kernel without huge pages: then the pages are small, which is only slower. Small mode must say
  // so too, for machines that are set to "always".
  madvise(base, reserve_bytes, mode == PageMode::kTransparentHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return std::make_unique<MappedArena>(base, reserve_bytes, budget_bytes, mode);
}

}  // namespace scyper::storage
