#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/strong.h"

namespace scyper::storage {

enum class ObserverKind : uint8_t {
  kModule,   // the kernel module: reads and writes per page (2 MB on huge ones), noted by the processor
  kPagemap,  // PAGEMAP_SCAN and write protection (Linux 6.7): writes per page, a short fault for each page and window
  kProtection,  // mprotect and SIGSEGV: reads and writes per page, a signal for each page and window
  kCounters,    // who uses the memory counts: reads and writes per range
};
// "module", "pagemap", "mprotect", "counters"
std::string_view name_of(ObserverKind kind);

using WatchId = Strong<struct WatchIdTag>;

constexpr uint8_t kAccessRead = 1;  // a write counts as a read, too
constexpr uint8_t kAccessWritten = 2;

// What happened to one watched range in a window.
struct RangeAccess {
  WatchId id;
  TableId table;
  // Only then do missing kAccessRead bits say something: the observer sees reads and the table was not to be ignored.
  bool knows_reads = false;
  size_t unit_bytes = 0;       // of which each entry of `units` tells; the last one may be smaller
  std::vector<uint8_t> units;  // kAccessRead | kAccessWritten
  size_t read_units = 0;
  size_t written_units = 0;
};

// Where accesses to one range are counted, when the observer is kCounters. Few instructions and no locked one:
// exact as long as one thread at a time accesses the range, as partitions have it; of concurrent readers of shared
// tables some may be lost, never all of a window.
class AccessCounter {
 public:
  void count_read() noexcept { add(reads_); }
  void count_write() noexcept { add(writes_); }
  uint64_t reads() const noexcept { return reads_.load(std::memory_order_relaxed); }
  uint64_t writes() const noexcept { return writes_.load(std::memory_order_relaxed); }

 private:
  static void add(std::atomic<uint64_t>& count) noexcept {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> writes_{0};
};

// Tells which parts of watched memory were accessed in the last window of time; collect() ends a window and begins the
// next. A hint, for temperatures, and never a proof that nothing was written: an access beside collect() may be in
// neither window.
// Invariants: (1) an access while no call runs is in the next window; (2) ranges do not overlap; (3) nothing from
//   before watch() is reported, but for ranges that cut a huge page, with kModule.
// Caveats: memory that kProtection watches must not be given to system calls, which fail with EFAULT where a program
//   would go on; both it and kPagemap split transparent huge pages. kModule tells of as much as a page covers.
// Threads: any (a mutex inside); accesses go on meanwhile. Fork: a child may access watched memory, which the parent
//   does not notice where it is private; it must not call anything here.
// Source: Funke et al., VLDB 2012, 4.1. We differ: PAGEMAP_SCAN, which did not exist.
class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  virtual ObserverKind kind() const = 0;
  virtual bool sees_reads() const = 0;
  // Whole pages of memory that stays mapped until forget(). Errors: kInvalidArgument, kAlreadyExists (overlap), else
  // what the kernel says.
  virtual StatusOr<WatchId> watch(TableId table, void* start, size_t bytes) = 0;
  virtual Status forget(WatchId id) = 0;
  // kCounters: where accesses are counted, until forget(); else nullptr.
  virtual AccessCounter* counter_of(WatchId id) = 0;
  // All watched ranges, by address. `ignore`: tables that an analytical query read in this window: their reads do not
  // count (VLDB 2012, 4.1); writes do, queries make none. After an error the window may be lost in part.
  virtual StatusOr<std::vector<RangeAccess>> collect(const std::set<TableId>& ignore) = 0;
};

// By kind; kUnavailable and the reason where this machine, or what this process may, does not have it. Each is tried
// out on a few pages of its own before it is given out. At most one kProtection at a time in a process.
StatusOr<std::unique_ptr<AccessObserver>> make_observer(ObserverKind kind);
// The setting: "auto", or a name. "auto": the module, else PAGEMAP_SCAN, else counters; never mprotect (see the
// caveats).
StatusOr<std::unique_ptr<AccessObserver>> choose_observer(std::string_view setting);

}  // namespace scyper::storage
