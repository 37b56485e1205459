#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "follower.h"

// What becomes of what came in: it is logged, applied, and forked at the markers.
namespace scyper::secondary {

using replication::Inbox;

namespace {
// Applied at once: enough that the team's meetings do not count, little enough that snapshots do not wait.
constexpr size_t kApplyBytes = size_t{2} << 20;
constexpr size_t kApplyGroups = 256;

std::vector<replay::ScannedGroup> scanned(const std::vector<Inbox::Group>& groups) {
  std::vector<replay::ScannedGroup> out;
  for (const Inbox::Group& group : groups) {
    replay::ScannedGroup scanned;
    scanned.complete_lsn = group.parcel.complete_lsn;
    for (const replication::BatchView& batch : group.batches) scanned.batches.push_back({batch.header, batch.body, 0});
    out.push_back(std::move(scanned));
  }
  return out;
}
}  // namespace

void Follower::log() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    const Inbox::Group* next = nullptr;
    changed_.wait(lock, [&] { return is_stopping_ || !failure_.ok() || (next = inbox_.next_to_log()) != nullptr; });
    if (next == nullptr) return;
    const Inbox::Group group = *next;
    lock.unlock();
    Status status = keeper_->append(group, clock_.now_us());
    if (!status.ok()) {
      return fail(
          sql_error("58030", absl::StrCat("the log of this node cannot be written: ", std::string(status.message()))),
          /*restarts_empty=*/false);
    }
    lock.lock();
    inbox_.logged();
    changed_.notify_all();
  }
}

// Also forks: children live as long as this thread (storage/child_process.h).
void Follower::replay() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return is_stopping_ || !border_work_.empty() || (failure_.ok() && inbox_.next_to_apply() != nullptr);
    });
    if (!border_work_.empty()) {
      lock.unlock();
      run_border_work();
      lock.lock();
      continue;
    }
    if (is_stopping_) return;
    std::vector<Inbox::Group> groups;
    size_t bytes = 0;
    while (bytes < kApplyBytes && groups.size() < kApplyGroups) {
      const Inbox::Group* next = inbox_.next_to_apply(groups.size());
      if (next == nullptr) break;
      groups.push_back(*next);
      bytes += next->parcel.bytes->size();
      if (next->parcel.snapshot != 0) break;
    }
    inbox_.begin_apply(groups.size());
    lock.unlock();
    Status status = apply(groups);
    if (!status.ok()) {
      fail(status, /*restarts_empty=*/true);
      lock.lock();
      continue;
    }
    const replication::Parcel& last = groups.back().parcel;
    lock.lock();
    inbox_.applied();
    transactions_ = replayer_->transactions();
    if (inbox_.applied_lsn() >= inbox_.known_lsn()) current_ns_ = clock_.monotonic_ns();
    changed_.notify_all();
    if (last.snapshot == 0) continue;
    lock.unlock();
    if (Status taken = take_snapshot(last.term, last.snapshot, last.complete_lsn); !taken.ok()) {
      say(absl::StrCat("global snapshot ", last.snapshot, " could not be taken: ", std::string(taken.message())));
    }
    lock.lock();
  }
}

Status Follower::apply(const std::vector<Inbox::Group>& groups) {
  replay::Replayer::Range range;
  // what an archive has already is passed over
  range.from_lsn = std::max(groups.front().parcel.base_lsn, recovered_.lsn);
  return replayer_->apply(scanned(groups), range);
}

Status Follower::take_snapshot(uint64_t term, uint32_t snapshot, uint64_t lsn) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // of the past: nobody asks for it any more
    std::string why;
    if (lsn <= recovered_.lsn || term != inbox_.term() || is_behind(&why)) return Status();
  }
  SCYPER_RETURN_IF_ERROR(queries_->take_global_snapshot(
      [this, term, snapshot](query::ForkRequest request) { return fork_here(std::move(request), term, snapshot); }));
  std::lock_guard<std::mutex> lock(mutex_);
  snapshot_ = snapshot;
  snapshot_term_ = term;
  ++snapshots_;
  return Status();
}

StatusOr<query::Forked> Follower::fork_here(query::ForkRequest request, uint64_t term, uint32_t snapshot) {
  query::ForkPoint point;
  point.number = ++forks_;
  point.term = term;
  point.snapshot = snapshot;
  const int64_t start_ns = clock_.monotonic_ns();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    point.lsn = inbox_.applied_lsn();
  }
  point.catalog = database_->catalog();
  point.time_us = clock_.now_us();
  point.monotonic_ns = start_ns;
  if (request.at_cut) request.at_cut(point);
  StatusOr<std::unique_ptr<storage::ChildProcess>> child = absl::UnknownError("not forked");
  database_->while_no_code_is_linked([&] {
    const int64_t fork_ns = clock_.monotonic_ns();
    child = storage::ChildProcess::fork(
        request.child, [&](int socket) { return request.body(query::ForkedDatabase{database_.get(), point}, socket); });
    point.fork_ns = clock_.monotonic_ns() - fork_ns;
  });
  point.stall_ns = clock_.monotonic_ns() - start_ns;
  if (!child.ok()) return child.status();
  (*child)->wait_until_watched();
  return query::Forked{*std::move(child), std::move(point)};
}

void Follower::run_border_work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!border_work_.empty()) {
    BorderWork* waiting = border_work_.front();
    border_work_.pop_front();
    const bool is_refused = is_stopping_ || !failure_.ok();
    lock.unlock();
    if (!is_refused) waiting->work();
    lock.lock();
    if (is_refused) waiting->status = sql_error("57P03", "the node is shutting down");
    waiting->is_done = true;
    changed_.notify_all();
  }
}

}  // namespace scyper::secondary
