#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "kmod/scyper_observer.h"
#include "storage/arena.h"
#include "watched_ranges.h"

// The kernel module (kmod/): young and dirty bits of the page tables.
namespace scyper::storage {

namespace {

class ModuleObserver final : public AccessObserver {
 public:
  explicit ModuleObserver(int device) : device_(device) {}
  ~ModuleObserver() override { close(device_); }
  ObserverKind kind() const override { return ObserverKind::kModule; }
  bool sees_reads() const override { return true; }
  AccessCounter* counter_of(WatchId) override { return nullptr; }

  StatusOr<WatchId> watch(TableId table, void* start, size_t bytes) override {
    const MutexLock lock(&mutex_);
    SCYPER_ASSIGN_OR_RETURN(const WatchId id, ranges_.add(table, start, bytes));
    SCYPER_ASSIGN_OR_RETURN(const WatchedRanges::Range range, ranges_.find(id));
    // what was before does not count: begin with bits that are clear, and learn whether such memory can be observed
    Status cleared = take(range.start, range.end(), 0, nullptr);
    if (cleared.ok()) return id;
    ranges_.remove(range);
    return cleared;
  }

  Status forget(WatchId id) override {
    const MutexLock lock(&mutex_);
    SCYPER_ASSIGN_OR_RETURN(const WatchedRanges::Range range, ranges_.find(id));
    ranges_.remove(range);
    return absl::OkStatus();
  }

  StatusOr<std::vector<RangeAccess>> collect(const std::set<TableId>& ignore) override {
    const MutexLock lock(&mutex_);
    std::vector<RangeAccess> accesses;
    accesses.reserve(ranges_.by_address().size());
    for (auto first = ranges_.by_address().begin(); first != ranges_.by_address().end();) {
      // Ranges that may share a huge page are asked for together: one entry tells of them all, and is cleared once.
      const uintptr_t start = first->first / kHugePageBytes * kHugePageBytes;
      uintptr_t end = start;
      auto last = first;
      for (; last != ranges_.by_address().end() && (last == first || last->first < end); ++last) {
        end = (last->second.end() + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
      }
      std::vector<uint8_t> pages((end - start) / kPageBytes);
      SCYPER_RETURN_IF_ERROR(take(start, end, SCYPER_SKIP_HOLES, pages.data()));
      for (; first != last; ++first) {
        accesses.push_back(access_of(first->second, pages.data() + (first->first - start) / kPageBytes, ignore));
      }
    }
    return accesses;
  }

 private:
  static RangeAccess access_of(const WatchedRanges::Range& range, const uint8_t* pages,
                               const std::set<TableId>& ignore) {
    RangeAccess access = no_access(range, kPageBytes, true, ignore);
    for (size_t i = 0; i < access.units.size(); ++i) {
      if (pages[i] & SCYPER_PAGE_YOUNG) access.units[i] = kAccessRead;
      if (pages[i] & SCYPER_PAGE_DIRTY) access.units[i] = kAccessRead | kAccessWritten;
    }
    finish(access);
    return access;
  }

  // Reads and clears. Without SCYPER_SKIP_HOLES: of exactly these pages, which must be observable; huge pages at its
  // ends stay.
  Status take(uintptr_t start, uintptr_t end, uint32_t flags, uint8_t* pages) {
    scyper_observer_collect request{};
    request.flags = flags | SCYPER_CLEAR_YOUNG | SCYPER_CLEAR_DIRTY;
    request.start = start;
    request.bytes = end - start;
    request.pages = reinterpret_cast<uintptr_t>(pages);
    if (ioctl(device_, SCYPER_OBSERVER_COLLECT, &request) == 0) return absl::OkStatus();
    if (errno != EINVAL || flags == SCYPER_SKIP_HOLES) return observer_error(kind(), "cannot read page tables", errno);
    // the range cuts a huge page, whose bits belong to its neighbours, too: they count once more
    request.flags = 0;
    if (ioctl(device_, SCYPER_OBSERVER_COLLECT, &request) == 0) return absl::OkStatus();
    return observer_error(kind(), "cannot read page tables", errno);
  }

  const int device_;
  Mutex mutex_;
  WatchedRanges ranges_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StatusOr<std::unique_ptr<AccessObserver>> make_module_observer() {
  const int device = open(SCYPER_OBSERVER_DEVICE, O_RDWR | O_CLOEXEC);
  if (device < 0) return observer_error(ObserverKind::kModule, "cannot open " SCYPER_OBSERVER_DEVICE, errno);
  auto observer = std::make_unique<ModuleObserver>(device);
  scyper_observer_info info{};
  if (ioctl(device, SCYPER_OBSERVER_INFO, &info) != 0) {
    return observer_error(ObserverKind::kModule, "no answer from " SCYPER_OBSERVER_DEVICE, errno);
  }
  if (info.version != SCYPER_OBSERVER_VERSION || size_t{1} << info.page_shift != kPageBytes) {
    return observer_error(ObserverKind::kModule, "another version of the module is loaded", EPROTO);
  }
  return observer;
}

}  // namespace scyper::storage
