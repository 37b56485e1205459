#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/status.h"
#include "storage/access_observer.h"

namespace scyper::storage {

constexpr size_t kPageBytes = 4096;

// The ranges of an observer, by address and by id. Not thread-safe: the observer has a mutex.
class WatchedRanges {
 public:
  struct Range {
    WatchId id;
    TableId table;
    uintptr_t start = 0;
    size_t bytes = 0;
    uintptr_t end() const { return start + bytes; }
    size_t pages() const { return bytes / kPageBytes; }
  };

  StatusOr<WatchId> add(TableId table, const void* start, size_t bytes);
  StatusOr<Range> find(WatchId id) const;
  void remove(const Range& range);
  const std::map<uintptr_t, Range>& by_address() const { return by_address_; }

 private:
  std::map<uintptr_t, Range> by_address_;
  std::map<WatchId, uintptr_t> starts_;
  uint64_t last_id_ = 0;
};

// The answer for a range, all units untouched.
RangeAccess no_access(const WatchedRanges::Range& range, size_t unit_bytes, bool sees_reads,
                      const std::set<TableId>& ignore);
// Takes reads out where they do not count, and sums up.
void finish(RangeAccess& access);
// errno as a Status that says who failed at what.
Status observer_error(ObserverKind kind, const char* what, int error);

// One per kind; see make_observer().
StatusOr<std::unique_ptr<AccessObserver>> make_module_observer();
StatusOr<std::unique_ptr<AccessObserver>> make_pagemap_observer();
StatusOr<std::unique_ptr<AccessObserver>> make_protection_observer();
std::unique_ptr<AccessObserver> make_counting_observer();

}  // namespace scyper::storage
