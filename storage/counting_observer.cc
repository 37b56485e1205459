#include <memory>
#include <utility>

#include "base/mutex.h"
#include "watched_ranges.h"

// Counters in software: the engine counts, per range.
namespace scyper::storage {

namespace {

struct Counted {
  AccessCounter counter;
  uint64_t reads_seen =
      0;  // when the last window ended: nothing is reset, so nothing that is counted meanwhile is lost
  uint64_t writes_seen = 0;
};

class CountingObserver final : public AccessObserver {
 public:
  ObserverKind kind() const override { return ObserverKind::kCounters; }
  bool sees_reads() const override { return true; }

  StatusOr<WatchId> watch(TableId table, void* start, size_t bytes) override {
    const MutexLock lock(&mutex_);
    SCYPER_ASSIGN_OR_RETURN(const WatchId id, ranges_.add(table, start, bytes));
    counted_[id] = std::make_unique<Counted>();
    return id;
  }

  Status forget(WatchId id) override {
    const MutexLock lock(&mutex_);
    SCYPER_ASSIGN_OR_RETURN(const WatchedRanges::Range range, ranges_.find(id));
    ranges_.remove(range);
    counted_.erase(id);
    return absl::OkStatus();
  }

  AccessCounter* counter_of(WatchId id) override {
    const MutexLock lock(&mutex_);
    const auto found = counted_.find(id);
    return found == counted_.end() ? nullptr : &found->second->counter;
  }

  StatusOr<std::vector<RangeAccess>> collect(const std::set<TableId>& ignore) override {
    const MutexLock lock(&mutex_);
    std::vector<RangeAccess> accesses;
    accesses.reserve(ranges_.by_address().size());
    for (const auto& [start, range] : ranges_.by_address()) {
      Counted& counted = *counted_.at(range.id);
      const uint64_t reads = counted.counter.reads();
      const uint64_t writes = counted.counter.writes();
      RangeAccess access = no_access(range, range.bytes, true, ignore);
      if (reads != counted.reads_seen) access.units[0] = kAccessRead;
      if (writes != counted.writes_seen) access.units[0] = kAccessRead | kAccessWritten;
      counted.reads_seen = reads;
      counted.writes_seen = writes;
      finish(access);
      accesses.push_back(std::move(access));
    }
    return accesses;
  }

 private:
  Mutex mutex_;
  WatchedRanges ranges_ ABSL_GUARDED_BY(mutex_);
  std::map<WatchId, std::unique_ptr<Counted>> counted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<AccessObserver> make_counting_observer() { return std::make_unique<CountingObserver>(); }

}  // namespace scyper::storage
