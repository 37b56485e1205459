#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "follower.h"
#include "replay/log_parcels.h"
#include "replay/record.h"
#include "replay/state_digest.h"

// What becomes of what came in: it is logged, applied, and forked at the markers.
namespace scyper::secondary {

using replication::Inbox;

namespace {
// Applied at once: enough that the team's meetings do not count, little enough that snapshots do not wait.
constexpr size_t kApplyBytes = size_t{2} << 20;
constexpr size_t kApplyGroups = 256;
constexpr std::chrono::milliseconds kArchiveLook{200};
// Of compaction between two applies: little beside what those take.
constexpr int64_t kStepsNs = 1'000'000;
// A log that is so far behind catches up by pieces: a segment costs a few flushes, a group one.
constexpr size_t kPieceGroupsMin = 64;
constexpr size_t kPieceBytes = size_t{8} << 20;
constexpr std::chrono::milliseconds kFullRetry{100};

// What no digest would forgive: for tests and drills.
Failpoint lose_group("secondary.lose_group");
Failpoint before_fork("secondary.before_fork");

std::vector<replay::ScannedGroup> scanned(const std::vector<Inbox::Group>& groups) {
  std::vector<replay::ScannedGroup> out;
  for (const Inbox::Group& group : groups) {
    if (group.parcel.snapshot == 0 && lose_group.fires()) continue;
    out.push_back(replay::scanned_group(group.parcel.complete_lsn, group.batches));
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
    std::vector<Inbox::Group> groups = {*next};
    if (inbox_.unlogged() >= kPieceGroupsMin) {
      for (size_t bytes = 0; bytes < kPieceBytes && groups.size() < inbox_.unlogged();) {
        groups.push_back(*inbox_.next_to_log(groups.size()));
        bytes += groups.back().parcel.bytes->size();
      }
    }
    lock.unlock();
    Status status = append(groups);
    if (is_disk_full(status)) return;  // the node stops
    if (!status.ok()) return fail_to_log(status);
    lock.lock();
    inbox_.logged();
    for (const Inbox::Group& group : groups) {
      if (terms_.empty() || terms_.back().term != group.parcel.term) {
        terms_.push_back({group.parcel.term, group.parcel.base_lsn});
      }
    }
    changed_.notify_all();
    lock.unlock();  // who waits for the group does not wait for the next segment
    if (status = keeper_->prepare_next(); !status.ok() && !is_disk_full(status)) return fail_to_log(status);
    lock.lock();
  }
}

// A full disk is waited for: what is not in the log is not acknowledged as durable, and queries go on.
Status Follower::append(const std::vector<Inbox::Group>& groups) {
  bool has_said = false;
  while (true) {
    if (const uint64_t lsn = droppable_lsn_.exchange(0); lsn != 0) {
      if (Status dropped = keeper_->drop_before(lsn); !dropped.ok()) {
        say(absl::StrCat("old log stays: ", std::string(dropped.message())));
      }
    }
    const Status status = groups.size() == 1 ? keeper_->append(groups.front(), clock_.now_us())
                                             : keeper_->append_all(groups, clock_.now_us());
    if (status.ok() && has_said) say("the disk of the log has room again");
    if (!is_disk_full(status)) return status;
    if (!std::exchange(has_said, true)) {
      say(absl::StrCat("the disk of the log is full, nothing more is acknowledged: ", std::string(status.message())));
    }
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, kFullRetry, [this] { return is_stopping_.load(); });
    if (is_stopping_) return status;
  }
}

void Follower::fail_to_log(const Status& status) {
  fail(sql_error("58030", absl::StrCat("the log of this node cannot be written: ", std::string(status.message()))),
       /*restarts_empty=*/false);
}

// Also forks: children live as long as this thread (storage/child_process.h).
void Follower::replay() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return is_stopping_ || !border_work_.empty() ||
             (failure_.ok() && (is_step_due_ || inbox_.next_to_apply() != nullptr));
    });
    if (!border_work_.empty()) {
      lock.unlock();
      run_border_work();
      lock.lock();
      continue;
    }
    if (is_stopping_) return;
    if (std::exchange(is_step_due_, false)) {
      lock.unlock();
      const bool has_more = take_compaction_steps();
      lock.lock();
      is_step_due_ |= has_more;
      if (!failure_.ok() || inbox_.next_to_apply() == nullptr) continue;
    }
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
      // no room left says nothing about the log: what it has stays, and counts for those who wait for copies
      fail(status, /*restarts_empty=*/sqlstate_of(status) == "XX001");
      lock.lock();
      continue;
    }
    const replication::Parcel& last = groups.back().parcel;
    lock.lock();
    inbox_.applied();
    transactions_ = replayer_->transactions();
    applied_bytes_ += bytes;
    drop_applied();
    changed_.notify_all();
    if (last.snapshot == 0) continue;
    lock.unlock();
    if (Status taken = last.is_digested ? take_digest(last.term, last.snapshot, last.complete_lsn) : Status();
        !taken.ok()) {
      say(absl::StrCat("no digest: ", std::string(taken.message())));
    }
    if (Status taken = take_snapshot(last.term, last.snapshot, last.complete_lsn); !taken.ok()) {
      say(absl::StrCat("global snapshot ", last.snapshot, " could not be taken: ", std::string(taken.message())));
    }
    lock.lock();
  }
}

// Between two applies all partitions are this thread's. False: nothing to do until steps are due again.
bool Follower::take_compaction_steps() {
  const int64_t end_ns = clock_.monotonic_ns() + kStepsNs;
  while (compaction_->take_step(&share_, nullptr)) {
    if (clock_.monotonic_ns() >= end_ns) return true;
  }
  return false;
}

Status Follower::apply(const std::vector<Inbox::Group>& groups) {
  replay::Replayer::Range range;
  // what an archive has already is passed over
  range.from_lsn = std::max(groups.front().parcel.base_lsn, recovered_.lsn);
  SCYPER_RETURN_IF_ERROR(replayer_->apply(scanned(groups), range));
  make_local_indexes();
  return Status();
}

// A node without them is a node that works: failures are told, no more.
void Follower::make_local_indexes() {
  const std::vector<std::string> lines = local_indexes_.make(database_.get());
  for (const std::string& line : lines) say(line);
  if (!lines.empty()) replayer_->forget_indexes();
}

// For archives, which must not be ahead of the log of their node: what replay does needs the primary's word only.
Status Follower::wait_logged(uint64_t lsn, const replay::ArchiveChild::Interruption& interruption) {
  const auto is_over = [&] {
    return is_stopping_ || !failure_.ok() || keeper_ == nullptr || inbox_.logged_lsn() >= lsn;
  };
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kArchiveLook, is_over)) SCYPER_RETURN_IF_ERROR(interruption());
  return is_stopping_ || !failure_.ok() ? sql_error("57P03", "the node is shutting down") : Status();
}

Status Follower::take_snapshot(uint64_t term, uint32_t snapshot, uint64_t lsn) {
  Status missed;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || lsn <= recovered_.lsn) return Status();
    is_snapshotting_ = true;
    // of the past: hardly anybody asks for it any more
    std::string why = "it is of an earlier term";
    if (term != inbox_.term() || is_behind(0, &why)) missed = absl::UnavailableError(why);
  }
  const int64_t start_ns = clock_.monotonic_ns();
  Status taken = missed;
  if (missed.ok()) {
    taken = queries_->take_global_snapshot(term, snapshot, [this, term, snapshot](query::ForkRequest request) {
      return fork_here(std::move(request), term, snapshot);
    });
  } else {
    queries_->miss_global_snapshot(term, snapshot, missed);
  }
  if (taken.ok()) fork_time_.record_ns(static_cast<uint64_t>(clock_.monotonic_ns() - start_ns));
  std::lock_guard<std::mutex> lock(mutex_);
  is_snapshotting_ = false;
  has_room_ = taken.ok() || !missed.ok();
  changed_.notify_all();
  if (!missed.ok()) return Status();
  if (!taken.ok()) return taken;
  snapshot_ = snapshot;
  snapshot_term_ = term;
  ++snapshots_;
  return Status();
}

StatusOr<std::pair<replay::ArchiveResult, std::string>> Follower::write_archive(const std::string& archives) {
  if (!options_.link.partitions.is_all())
    return sql_error("0A000", "a secondary that subscribes to some partitions writes no archives");
  if (own_disk_ == nullptr) return sql_error("0A000", "archives need the machine's disk");
  uint64_t term;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!is_own_confirmed_) return sql_error("57P03", "the node does not know yet whether its state is the primary's");
    term = inbox_.term();
  }
  SCYPER_ASSIGN_OR_RETURN(Archivist::Written written, archivist_->write(archives, term));
  // what lies between the oldest archive that is kept and the end
  if (written.oldest_own_lsn != 0) droppable_lsn_ = written.oldest_own_lsn;
  if (!options_.data_directory.empty() && archives.empty()) {
    std::lock_guard<std::mutex> lock(mutex_);
    archive_lsn_ = std::max(archive_lsn_, written.result.lsn);
  }
  return std::pair(written.result, written.path);
}

// After so much log; where archives are shared, one node's serve all, so each waits for a little more than the one
// before.
void Follower::archive() {
  const uint64_t share = std::hash<std::string>()(options_.link.node) % 8;
  const uint64_t wanted = options_.archive_log_bytes + options_.archive_log_bytes / 32 * share;
  uint64_t shared_lsn = archivist_->shared_lsn();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_stopping_ && failure_.ok()) {
    changed_.wait_for(lock, kArchiveLook);
    if (is_stopping_ || applied_bytes_ - archived_bytes_ < wanted) continue;
    archived_bytes_ = applied_bytes_;  // a failure waits for as much log again
    lock.unlock();
    const uint64_t seen_lsn = std::exchange(shared_lsn, archivist_->shared_lsn());
    const bool is_done = keeper_ == nullptr && shared_lsn > seen_lsn;  // by another node
    auto written = is_done ? StatusOr<std::pair<replay::ArchiveResult, std::string>>(absl::AlreadyExistsError(""))
                           : write_archive("");
    if (written.ok()) say("archive " + written->second);
    if (!written.ok() && !is_done) say(absl::StrCat("no archive: ", std::string(written.status().message())));
    lock.lock();
  }
}

// Its child computes beside replay; one at a time.
Status Follower::take_digest(uint64_t term, uint32_t snapshot, uint64_t lsn) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || lsn <= recovered_.lsn || term != inbox_.term() || digesting_ != nullptr) return Status();
  }
  // its child ends with it where the node stops meanwhile
  SCYPER_ASSIGN_OR_RETURN(query::Forked forked,
                          fork_here(replay::make_digest_request(options_.link.partitions), term, snapshot));
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_stopping_) return Status();
  digesting_ = std::make_unique<query::Forked>(std::move(forked));
  changed_.notify_all();
  return Status();
}

// Waits for digests and has them told to the primary.
void Follower::digest() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || digesting_ != nullptr; });
    if (digesting_ == nullptr) return;
    lock.unlock();
    auto digest = replay::read_digest(*digesting_);  // nobody else touches it
    lock.lock();
    digesting_.reset();
    if (!digest.ok()) {
      say(absl::StrCat("no digest: ", std::string(digest.status().message())));
      continue;
    }
    digest_ = std::make_shared<const replication::StateDigest>(*std::move(digest));
    ++digests_;
    changed_.notify_all();
  }
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
    point.monotonic_ns = state_ns();
  }
  point.catalog = database_->catalog();
  point.time_us = clock_.now_us();
  if (request.at_cut) request.at_cut(point);
  StatusOr<std::unique_ptr<storage::ChildProcess>> child = absl::UnknownError("not forked");
  before_fork.fires();
  database_->while_no_code_is_linked([&] {
    const int64_t fork_ns = clock_.monotonic_ns();
    storage::ChildOptions options = request.child;
    options.arena = database_->arena();
    options.frozen = database_->frozen_memory();
    if (storage::FrozenTier* tier = database_->tier(); tier != nullptr) options.pages = tier->caches().all();
    child = storage::ChildProcess::fork(
        options, [&](int socket) { return request.body(query::ForkedDatabase{database_.get(), point}, socket); });
    point.fork_ns = clock_.monotonic_ns() - fork_ns;
  });
  point.stall_ns = clock_.monotonic_ns() - start_ns;
  if (!child.ok()) return child.status();
  database_->arena()->forked((*child)->pid());
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
