#include "storage/access_observer.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "watched_ranges.h"

namespace scyper::storage {

namespace {

constexpr std::array kNames = {std::string_view("module"), std::string_view("pagemap"), std::string_view("mprotect"),
                               std::string_view("counters")};
constexpr std::array kAutomatic = {ObserverKind::kModule, ObserverKind::kPagemap, ObserverKind::kCounters};

Status unavailable(ObserverKind kind, std::string_view why) {
  return absl::UnavailableError(absl::StrCat("access observer ", std::string(name_of(kind)), ": ", std::string(why)));
}

// Pages of its own for try_out().
class TrialPages {
 public:
  static constexpr size_t kPages = 4;
  TrialPages()
      : start_(mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~TrialPages() {
    if (is_there()) munmap(start_, kPages * kPageBytes);
  }
  TrialPages(const TrialPages&) = delete;
  TrialPages& operator=(const TrialPages&) = delete;
  bool is_there() const { return start_ != MAP_FAILED; }
  volatile char* page(size_t i) const { return static_cast<volatile char*>(start_) + i * kPageBytes; }
  void* start() const { return start_; }

 private:
  void* const start_;
};

// Kernels, containers and emulators differ in what they really do: one page is read, one written, and both windows must
// say so.
Status try_out(AccessObserver& observer) {
  const TrialPages pages;
  if (!pages.is_there()) return unavailable(observer.kind(), "no memory to try it out");
  for (size_t i = 0; i < TrialPages::kPages; ++i) *pages.page(i) = 1;
  SCYPER_ASSIGN_OR_RETURN(const WatchId id, observer.watch(TableId(), pages.start(), TrialPages::kPages * kPageBytes));
  *pages.page(1) = 2;
  (void)*pages.page(2);
  auto first = observer.collect({});
  auto second = observer.collect({});
  SCYPER_RETURN_IF_ERROR(observer.forget(id));
  if (!first.ok()) return first.status();
  if (!second.ok()) return second.status();
  std::vector<uint8_t> expected = {0, kAccessRead | kAccessWritten, kAccessRead, 0};
  if (!observer.sees_reads()) expected = {0, kAccessWritten, 0, 0};
  if (first->front().units != expected) return unavailable(observer.kind(), "it does not report what was done");
  if (second->front().written_units != 0 || second->front().read_units != 0) {
    return unavailable(observer.kind(), "it reports what was not done");
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<AccessObserver>> make_untried(ObserverKind kind) {
  switch (kind) {
    case ObserverKind::kModule:
      return make_module_observer();
    case ObserverKind::kPagemap:
      return make_pagemap_observer();
    case ObserverKind::kProtection:
      return make_protection_observer();
    case ObserverKind::kCounters:
      return make_counting_observer();
  }
  return absl::InvalidArgumentError("unknown access observer");
}

}  // namespace

std::string_view name_of(ObserverKind kind) { return kNames[static_cast<size_t>(kind)]; }

StatusOr<std::unique_ptr<AccessObserver>> make_observer(ObserverKind kind) {
  SCYPER_ASSIGN_OR_RETURN(std::unique_ptr<AccessObserver> observer, make_untried(kind));
  if (kind != ObserverKind::kCounters) SCYPER_RETURN_IF_ERROR(try_out(*observer));
  return observer;
}

StatusOr<std::unique_ptr<AccessObserver>> choose_observer(std::string_view setting) {
  const auto name = std::find(kNames.begin(), kNames.end(), setting);
  if (name != kNames.end()) return make_observer(static_cast<ObserverKind>(name - kNames.begin()));
  if (setting != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("access observer \"", std::string(setting), "\": auto, module, pagemap, mprotect or counters"));
  }
  for (ObserverKind kind : kAutomatic) {
    auto observer = make_observer(kind);
    if (observer.ok()) return observer;
  }
  return absl::InternalError("counters are always there");
}

StatusOr<WatchId> WatchedRanges::add(TableId table, const void* start, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(start);
  if (address % kPageBytes != 0 || bytes % kPageBytes != 0 || bytes == 0 || address + bytes < address) {
    return absl::InvalidArgumentError("only whole pages can be watched");
  }
  const auto next = by_address_.lower_bound(address);
  const bool meets_next = next != by_address_.end() && next->first < address + bytes;
  const bool meets_previous = next != by_address_.begin() && std::prev(next)->second.end() > address;
  if (meets_next || meets_previous) return absl::AlreadyExistsError("part of the range is watched already");
  const WatchId id(++last_id_);
  by_address_[address] = {id, table, address, bytes};
  starts_[id] = address;
  return id;
}

StatusOr<WatchedRanges::Range> WatchedRanges::find(WatchId id) const {
  const auto found = starts_.find(id);
  if (found == starts_.end()) return absl::NotFoundError("no such range is watched");
  return by_address_.at(found->second);
}

void WatchedRanges::remove(const Range& range) {
  starts_.erase(range.id);
  by_address_.erase(range.start);
}

RangeAccess no_access(const WatchedRanges::Range& range, size_t unit_bytes, bool sees_reads,
                      const std::set<TableId>& ignore) {
  RangeAccess access;
  access.id = range.id;
  access.table = range.table;
  access.knows_reads = sees_reads && !ignore.contains(range.table);
  access.unit_bytes = unit_bytes;
  access.units.resize((range.bytes + unit_bytes - 1) / unit_bytes);
  return access;
}

void finish(RangeAccess& access) {
  for (uint8_t& unit : access.units) {
    if (!access.knows_reads) unit &= ~kAccessRead;
    access.read_units += (unit & kAccessRead) != 0;
    access.written_units += (unit & kAccessWritten) != 0;
  }
}

Status observer_error(ObserverKind kind, const char* what, int error) {
  return absl::UnavailableError(
      absl::StrCat("access observer ", std::string(name_of(kind)), ": ", what, ": ", std::strerror(error)));
}

}  // namespace scyper::storage
