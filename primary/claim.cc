#include "claim.h"

#include <algorithm>
#include <optional>

#include "base/bounded_work.h"
#include "base/clock.h"
#include "base/postgres_epoch.h"
#include "block_waits.h"

namespace scyper::primary {

namespace {

// Between two looks at whether the statement was cancelled. The first ones come soon. Later ones cost little, however
// many callers wait.
constexpr int64_t kFirstLookNs = 1'000'000, kLookNsMax = 20'000'000;

Status why_left(const std::atomic<bool>* cancelled, int64_t deadline_ns, int64_t now_ns) {
  SCYPER_RETURN_IF_ERROR(why_over(cancelled, deadline_ns, now_ns));
  if (!work_must_end()) return {};
  return sql_error("57014", "canceling statement due to user request");
}

}  // namespace

QueueWaits::Entry::Entry(QueueWaits* all, int32_t pid, const Claim* claim)
    : all_(all), pid_(pid), claim_(claim), since_us_(RealClock().now_us() - kPostgresEpochUs) {
  MutexLock lock(&all_->mutex_);
  all_->entries_.insert(this);
}

QueueWaits::Entry::~Entry() {
  MutexLock lock(&all_->mutex_);
  all_->entries_.erase(this);
}

std::vector<query::SessionLock> QueueWaits::locks() {
  std::vector<query::SessionLock> all;
  const int32_t alone = alone_.load(std::memory_order_relaxed);
  if (alone == kNobody) return all;
  MutexLock lock(&mutex_);
  for (const Entry* entry : entries_) {
    if (entry->pid_ == 0 || !entry->claim_->is_queued()) continue;  // it waits for a block, or runs
    query::SessionLock& waits = all.emplace_back();
    waits.pid = entry->pid_;
    waits.mode = "ShareLock";
    waits.is_granted = false;
    waits.since_us = entry->since_us_;
    if (alone != 0) waits.blocked_by.push_back(alone);
  }
  return all;
}

Status wait_or_leave(Completion* completion, Claim* claim, const std::atomic<bool>* cancelled, int64_t deadline_ns,
                     QueueWaits* waits, const query::SettingValues* settings) {
  if (completion->has_come()) return {};
  int64_t look_ns = kFirstLookNs;
  std::optional<QueueWaits::Entry> entry;
  while (true) {
    const int64_t now_ns = RealClock().monotonic_ns();
    const bool is_near = deadline_ns != 0 && deadline_ns > now_ns && deadline_ns - now_ns < look_ns;
    if (completion->wait_for(is_near ? deadline_ns - now_ns : look_ns)) return {};
    if (waits != nullptr && !entry.has_value()) entry.emplace(waits, query::session_number_of(settings), claim);
    look_ns = std::min(look_ns * 2, kLookNsMax);
    Status why = why_left(cancelled, deadline_ns, RealClock().monotonic_ns());
    if (!why.ok() && claim->leave()) return why;
  }
}

}  // namespace scyper::primary
