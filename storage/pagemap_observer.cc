#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <utility>

#include "base/mutex.h"
#include "watched_ranges.h"

// PAGEMAP_SCAN with asynchronous write protection: pages are write-protected through userfaultfd, the kernel takes the
// protection away at the first write, without asking anybody, and the scan finds pages without it and protects them
// again.
namespace scyper::storage {

namespace {

// From linux/fs.h and linux/userfaultfd.h of Linux 6.7: Debian 12 has older headers, whatever kernel runs.
constexpr uint64_t kFeatureWpHugetlbfsShmem = uint64_t{1} << 12;
constexpr uint64_t kFeatureWpUnpopulated = uint64_t{1} << 13;
constexpr uint64_t kFeatureWpAsync = uint64_t{1} << 15;
constexpr int kUserModeOnly = 1;
constexpr uint64_t kScanWpMatching = 1;
constexpr uint64_t kScanCheckWpAsync = 2;
constexpr uint64_t kPageIsWritten = 2;
struct PageRegion {
  uint64_t start;
  uint64_t end;
  uint64_t categories;
};
struct ScanArgument {
  uint64_t size;
  uint64_t flags;
  uint64_t start;
  uint64_t end;
  uint64_t walk_end;
  uint64_t vec;
  uint64_t vec_len;
  uint64_t max_pages;
  uint64_t category_inverted;
  uint64_t category_mask;
  uint64_t category_anyof_mask;
  uint64_t return_mask;
};
static_assert(sizeof(ScanArgument) == 96);
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArgument);

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

class PagemapObserver final : public AccessObserver {
 public:
  PagemapObserver(Descriptor faults, Descriptor pagemap) : faults_(std::move(faults)), pagemap_(std::move(pagemap)) {}
  ObserverKind kind() const override { return ObserverKind::kPagemap; }
  bool sees_reads() const override { return false; }
  AccessCounter* counter_of(WatchId) override { return nullptr; }

  StatusOr<WatchId> watch(TableId table, void* start, size_t bytes) override {
    const MutexLock lock(&mutex_);
    SCYPER_ASSIGN_OR_RETURN(const WatchId id, ranges_.add(table, start, bytes));
    SCYPER_ASSIGN_OR_RETURN(const WatchedRanges::Range range, ranges_.find(id));
    uffdio_register request{};
    request.range = {range.start, range.bytes};
    request.mode = UFFDIO_REGISTER_MODE_WP;
    if (ioctl(faults_.get(), UFFDIO_REGISTER, &request) != 0) {
      const int error = errno;
      ranges_.remove(range);
      return observer_error(kind(), "cannot watch memory", error);
    }
    Status protects = scan(range, nullptr);
    if (protects.ok()) return id;
    unregister(range).IgnoreError();
    ranges_.remove(range);
    return protects;
  }

  Status forget(WatchId id) override {
    const MutexLock lock(&mutex_);
    SCYPER_ASSIGN_OR_RETURN(const WatchedRanges::Range range, ranges_.find(id));
    ranges_.remove(range);
    return unregister(range);
  }

  StatusOr<std::vector<RangeAccess>> collect(const std::set<TableId>& ignore) override {
    const MutexLock lock(&mutex_);
    std::vector<RangeAccess> accesses;
    accesses.reserve(ranges_.by_address().size());
    for (const auto& [start, range] : ranges_.by_address()) {
      RangeAccess access = no_access(range, kPageBytes, false, ignore);
      SCYPER_RETURN_IF_ERROR(scan(range, &access));
      finish(access);
      accesses.push_back(std::move(access));
    }
    return accesses;
  }

 private:
  // Notes the pages that were written and protects them again.
  Status scan(const WatchedRanges::Range& range, RangeAccess* access) {
    std::array<PageRegion, 256> regions;
    ScanArgument argument{};
    argument.size = sizeof(argument);
    argument.flags = kScanWpMatching | kScanCheckWpAsync;
    argument.end = range.end();
    argument.vec = reinterpret_cast<uintptr_t>(regions.data());
    argument.vec_len = regions.size();
    argument.category_mask = kPageIsWritten;
    argument.return_mask = kPageIsWritten;
    for (uint64_t at = range.start; at < range.end(); at = argument.walk_end) {
      argument.start = at;
      argument.walk_end = at;
      const int count = ioctl(pagemap_.get(), kPagemapScan, &argument);
      if (count < 0) return observer_error(kind(), "cannot scan", errno);
      if (argument.walk_end <= at) return observer_error(kind(), "the scan does not move", EIO);
      if (access == nullptr) continue;
      for (const PageRegion& region : std::span(regions).first(static_cast<size_t>(count))) {
        const uint64_t last = std::min<uint64_t>(region.end, range.end());
        std::fill(access->units.begin() + static_cast<ptrdiff_t>((region.start - range.start) / kPageBytes),
                  access->units.begin() + static_cast<ptrdiff_t>((last - range.start) / kPageBytes), kAccessWritten);
      }
    }
    return absl::OkStatus();
  }

  Status unregister(const WatchedRanges::Range& range) {
    uffdio_range request{range.start, range.bytes};
    if (ioctl(faults_.get(), UFFDIO_UNREGISTER, &request) == 0) return absl::OkStatus();
    return observer_error(kind(), "cannot leave memory alone", errno);
  }

  const Descriptor faults_;
  const Descriptor pagemap_;
  Mutex mutex_;
  WatchedRanges ranges_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StatusOr<std::unique_ptr<AccessObserver>> make_pagemap_observer() {
  constexpr ObserverKind kKind = ObserverKind::kPagemap;
  // of the user alone: no right is needed, and nothing ever waits for an answer
  Descriptor faults(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly)));
  if (faults.get() < 0) return observer_error(kKind, "no userfaultfd", errno);
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kFeatureWpAsync | kFeatureWpUnpopulated | kFeatureWpHugetlbfsShmem;
  if (ioctl(faults.get(), UFFDIO_API, &api) != 0) {
    return observer_error(kKind, "this kernel has no asynchronous write protection (Linux 6.7 has)", errno);
  }
  Descriptor pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (pagemap.get() < 0) return observer_error(kKind, "cannot open /proc/self/pagemap", errno);
  return std::make_unique<PagemapObserver>(std::move(faults), std::move(pagemap));
}

}  // namespace scyper::storage
