#include "query/snapshots.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "query/stopping.h"
#include "snapshot/child_server.h"
#include "snapshot/sandbox.h"
#include "snapshot/snapshot.h"
#include "types/all_zones.h"

namespace scyper::query {

namespace {

constexpr int64_t kTendNs = 100'000'000;
constexpr int64_t kMeasureNs = 1'000'000'000;
constexpr int64_t kNsPerUs = 1000;
constexpr int64_t kGlobalWaitNs = 10'000'000'000;  // for a global snapshot that a ticket promised
constexpr int64_t kTicketNs = 1'000'000'000;       // so long a ticket may take to reach its node

Status timeout_error() { return sql_error("57014", "canceling statement due to statement timeout"); }
Status too_many_error() {
  return with_hint(sql_error("53300", "too many snapshots are in use"), "Close sessions, or retry later.");
}
// failure: of the newest one that replay has come to; OK where that is there.
Status no_global_error(const Status& failure) {
  std::string text = "the node does not have the snapshot that the query was given";
  if (!failure.ok()) text += ": " + std::string(failure.message());
  return with_hint(sql_error("55000", text), "Retry: the query then gets another one.");
}

bool makes_nameless_files(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
  return file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL);
}

// Where it can be done. What the child then may not do any more is done for it: to find the system's directory of
// temporary files.
void confine(ChildServerOptions* child) {
  std::error_code ignored;
  std::string& directory = child->spill_directory;
  if (directory.empty()) directory = std::filesystem::temp_directory_path(ignored).string();
  std::string why;
  if (!has_sandbox()) why = "this kernel has no seccomp filters";
  if (child->spill_bytes_max > 0 && !makes_nameless_files(directory)) {
    why = "the file system of " + directory + " has no temporary files without a name";
  }
  child->is_confined = why.empty();
  static std::once_flag once;
  if (!child->is_confined) {
    std::call_once(once, [&] { std::fprintf(stderr, "snapshots: children keep all system calls: %s\n", why.c_str()); });
  }
}

}  // namespace

Snapshots::Snapshots(Environment environment, const SnapshotOptions& options)
    : environment_(std::move(environment)), options_(options) {
  if (has_sandbox()) load_all_zones();
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "snapshots");
}

Snapshots::~Snapshots() {
  stop();
  thread_.join();
  for (Entry& entry : entries_) entry.snapshot->kill("the node is shutting down");
}

void Snapshots::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  forked_.notify_all();
}

// The entry holds one reference; queries and sessions hold more.
bool Snapshots::is_used(const Entry& entry) { return entry.snapshot.use_count() > 1; }

Snapshots::Use Snapshots::find(const Freshness& freshness, int64_t asked_ns) {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const Snapshot& snapshot = *entry->snapshot;
    if (!snapshot.is_alive()) continue;
    if (freshness.kind == Freshness::Kind::kAtLeast) {
      if (snapshot.point().lsn >= freshness.lsn) return entry->snapshot;
      continue;
    }
    if (freshness.kind == Freshness::Kind::kStaleness) {
      if (as_of_ns(snapshot) >= asked_ns - freshness.staleness_us * kNsPerUs) return entry->snapshot;
      continue;
    }
    // forked since then, or nothing has been committed since the fork
    const bool is_fresh =
        entry->fork_start_ns >= asked_ns || (snapshot.point().lsn == environment_.current_lsn() &&
                                             entry->catalog_version == environment_.catalog_version());
    if (is_fresh) return entry->snapshot;
    if (freshness.kind == Freshness::Kind::kFresh) return nullptr;  // older ones are no fresher
  }
  return nullptr;
}

int64_t Snapshots::as_of_ns(const Snapshot& snapshot) const {
  // before the LSN is looked at: what is known of a state holds for later ones
  const int64_t state_ns = environment_.state_ns ? environment_.state_ns() : clock_.monotonic_ns();
  const ForkPoint& point = snapshot.point();
  const bool is_newest =
      point.lsn == environment_.current_lsn() && point.catalog->version == environment_.catalog_version();
  return is_newest ? std::max(state_ns, point.monotonic_ns) : point.monotonic_ns;
}

Snapshots::Use Snapshots::find_global(const Freshness& freshness) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const ForkPoint& point = entry->snapshot->point();
    if (!entry->snapshot->is_alive() || point.snapshot == 0 || point.term != freshness.term) continue;
    if (point.snapshot == freshness.snapshot || (!freshness.is_exact && point.snapshot > freshness.snapshot)) {
      return entry->snapshot;
    }
  }
  return nullptr;
}

// Replay has come to that one, or beyond: what is not here now does not come any more.
bool Snapshots::is_passed(const Freshness& freshness) const {
  return std::pair(global_term_, global_) >= std::pair(freshness.term, freshness.snapshot);
}

void Snapshots::pass_global(uint64_t term, uint32_t snapshot, const Status& status) {
  global_term_ = term;
  global_ = snapshot;
  global_failure_ = status;
  forked_.notify_all();
}

StatusOr<Snapshots::Use> Snapshots::wait_for_global(const Freshness& freshness, int64_t deadline_ns) {
  const int64_t last_ns = clock_.monotonic_ns() + kGlobalWaitNs;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (is_stopping_) return stopping_error();
    if (Use found = find_global(freshness)) return found;
    const int64_t now_ns = clock_.monotonic_ns();
    if (deadline_ns != 0 && now_ns >= deadline_ns) return timeout_error();
    if (is_passed(freshness)) return no_global_error(global_failure_);
    if (now_ns >= last_ns) return no_global_error(Status());
    const int64_t until_ns = deadline_ns == 0 ? last_ns : std::min(last_ns, deadline_ns);
    forked_.wait_for(lock, std::chrono::nanoseconds(until_ns - now_ns));
  }
}

StatusOr<Snapshots::Use> Snapshots::acquire(const Freshness& freshness, int64_t deadline_ns) {
  if (freshness.kind == Freshness::Kind::kGlobal) return wait_for_global(freshness, deadline_ns);
  const int64_t asked_ns = clock_.monotonic_ns();
  if (freshness.kind == Freshness::Kind::kStaleness && environment_.wait_current) {
    SCYPER_RETURN_IF_ERROR(environment_.wait_current(asked_ns - freshness.staleness_us * kNsPerUs, deadline_ns));
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_stopping_) return stopping_error();
  if (Use found = find(freshness, asked_ns)) return found;
  if (freshness.kind == Freshness::Kind::kAtLeast && environment_.current_lsn() < freshness.lsn) {
    return with_hint(sql_error("55000", "the node has not reached the requested LSN"), "Retry after 10 ms.");
  }
  const uint64_t attempts = attempts_;
  ++waiting_;
  wanted_ns_ = asked_ns;
  wake_.notify_one();
  Use found;
  Status status;
  while (true) {
    if (is_stopping_) {
      status = stopping_error();
      break;
    }
    if ((found = find(freshness, asked_ns)) != nullptr) break;
    const bool was_served = attempts_ > attempts && attempt_start_ns_ >= asked_ns;
    if (was_served && !last_failure_.ok()) {
      status = last_failure_;
      break;
    }
    if (was_served && !is_forking_) {  // that snapshot has been lost already
      wanted_ns_ = clock_.monotonic_ns();
      wake_.notify_one();
    }
    const int64_t now_ns = clock_.monotonic_ns();
    if (deadline_ns != 0 && now_ns >= deadline_ns) {
      status = timeout_error();
      break;
    }
    const int64_t wait_ns = deadline_ns == 0 ? kTendNs : std::min(kTendNs, deadline_ns - now_ns);
    forked_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
  }
  --waiting_;
  if (!status.ok()) return status;
  return found;
}

int64_t Snapshots::next_fork_ns(int64_t now_ns) const {
  const int64_t earliest = last_fork_ns_ == 0 ? now_ns : last_fork_ns_ + options_.distance_us_min * kNsPerUs;
  if (waiting_ > 0 && wanted_ns_ >= attempt_start_ns_) return earliest;
  if (options_.period_us == 0) return INT64_MAX;
  const bool has_news = entries_.empty() || entries_.back().snapshot->point().lsn != environment_.current_lsn();
  return has_news ? std::max(earliest, last_fork_ns_ + options_.period_us * kNsPerUs) : INT64_MAX;
}

void Snapshots::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_stopping_) {
    const int64_t now_ns = clock_.monotonic_ns();
    const int64_t next_ns = next_fork_ns(now_ns);
    if (next_ns <= now_ns) {
      fork_one(&lock);
    } else {
      wake_.wait_for(lock, std::chrono::nanoseconds(std::min(kTendNs, next_ns - now_ns)));
    }
    tend(&lock);
  }
}

void Snapshots::fork_one(std::unique_lock<std::mutex>* lock) {
  attempt_start_ns_ = clock_.monotonic_ns();
  if (!make_room()) {
    last_failure_ = too_many_error();
    ++attempts_;
    // those who wait are told; a periodic fork tries again after its period
    last_fork_ns_ = attempt_start_ns_;
    forked_.notify_all();
    return;
  }
  last_fork_ns_ = attempt_start_ns_;
  is_forking_ = true;
  last_failure_ = add_fork(environment_.fork, attempt_start_ns_, lock);
  is_forking_ = false;
  ++attempts_;
  forked_.notify_all();
}

Status Snapshots::take_global(uint64_t term, uint32_t snapshot, const Forker& fork) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_stopping_) return stopping_error();
  Status status = make_room() ? add_fork(fork, clock_.monotonic_ns(), &lock) : too_many_error();
  pass_global(term, snapshot, status);
  wake_.notify_one();
  return status;
}

void Snapshots::miss_global(uint64_t term, uint32_t snapshot, const Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  pass_global(term, snapshot, why);
}

Status Snapshots::add_fork(const Forker& fork, int64_t start_ns, std::unique_lock<std::mutex>* lock) {
  Entry entry;
  entry.fork_start_ns = start_ns;
  lock->unlock();
  ForkRequest request;
  request.child.name = "scyper-snapshot";
  request.child.nice = options_.nice;
  ChildServerOptions child{environment_.partitions, options_.threads_max, options_.spill_directory,
                           options_.spill_bytes_max};
  confine(&child);
  request.body = [child](const ForkedDatabase& forked, int socket) { return serve_snapshot(forked, child, socket); };
  StatusOr<Forked> forked = fork(std::move(request));
  if (forked.ok()) {
    entry.catalog_version = forked->point.catalog->version;
    entry.snapshot = Snapshot::start(*std::move(forked));
  }
  lock->lock();
  if (!forked.ok()) {
    ++counters_.failed_forks;
    return forked.status();
  }
  const ForkPoint& point = entry.snapshot->point();
  ++counters_.forks;
  counters_.stall_ns += point.stall_ns;
  counters_.fork_ns += point.fork_ns;
  counters_.stall_ns_max = std::max(counters_.stall_ns_max, point.stall_ns);
  counters_.unfinished += point.unfinished;
  entries_.push_back(std::move(entry));
  return Status();
}

// For one more. Unused ones go first, the oldest of them.
bool Snapshots::make_room() {
  while (entries_.size() >= options_.count_max) {
    auto unused = std::find_if(entries_.begin(), entries_.end(),
                               [](const Entry& entry) { return !is_used(entry) || !entry.snapshot->is_alive(); });
    if (unused == entries_.end()) return false;
    ++counters_.dropped;
    doomed_.push_back(std::move(unused->snapshot));
    entries_.erase(unused);
  }
  return true;
}

// Drops what is lost, unused or over a cap.
void Snapshots::tend(std::unique_lock<std::mutex>* lock) {
  const int64_t now_ns = clock_.monotonic_ns();
  measure(lock);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool is_newest = std::next(entry) == entries_.end();
    if (is_used(*entry)) {
      entry->unused_since_ns = 0;
    } else if (entry->unused_since_ns == 0) {
      entry->unused_since_ns = now_ns;
    }
    const bool is_global = entry->snapshot->point().snapshot != 0;
    const bool may_be_asked_for = is_newest || is_global;
    const int64_t patience_ns =
        std::max(is_newest ? options_.unused_us_max * kNsPerUs : 0, is_global ? kTicketNs : int64_t{0});
    const bool is_stale =
        entry->unused_since_ns != 0 && (!may_be_asked_for || now_ns - entry->unused_since_ns >= patience_ns);
    const bool is_lost = !entry->snapshot->is_alive();
    const bool is_old = now_ns - entry->fork_start_ns >= options_.age_us_max * kNsPerUs;
    if (is_old) entry->snapshot->kill("it was older than the limit");
    if (is_stale || is_lost || is_old) {
      ++(is_lost || is_old ? counters_.lost : counters_.dropped);
      doomed_.push_back(std::move(entry->snapshot));
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
  if (doomed_.empty()) return;
  std::vector<std::shared_ptr<Snapshot>> doomed;
  std::swap(doomed, doomed_);
  lock->unlock();
  doomed.clear();
  lock->lock();
}

// Reads the children's memory without the lock, as the kernel takes its time. Reserved pages do not count for the cap:
// the pool bounds them, and most are copied by the node itself, ahead of its transactions.
void Snapshots::measure(std::unique_lock<std::mutex>* lock) {
  const int64_t now_ns = clock_.monotonic_ns();
  if (now_ns - measured_ns_ < kMeasureNs || entries_.empty()) return;
  measured_ns_ = now_ns;
  // Held one at a time: what is held counts as used, and the cut of a global snapshot cannot wait for room.
  std::vector<std::weak_ptr<Snapshot>> snapshots;
  for (const Entry& entry : entries_) snapshots.push_back(entry.snapshot);
  lock->unlock();
  std::vector<uint64_t> copied, reserved;
  for (const auto& weak : snapshots) {
    const std::shared_ptr<Snapshot> snapshot = weak.lock();
    auto memory = snapshot != nullptr ? snapshot->memory() : absl::NotFoundError("dropped");
    copied.push_back(memory.ok() ? memory->copied_bytes : 0);
    reserved.push_back(memory.ok() ? memory->reserved_copied_bytes : 0);
  }
  lock->lock();
  uint64_t sum = 0, sum_of_reserved = 0;
  for (Entry& entry : entries_) {  // take_global() may have changed them meanwhile
    for (size_t i = 0; i < snapshots.size(); ++i) {
      if (snapshots[i].lock() != entry.snapshot) continue;
      sum += entry.copied_bytes = copied[i] - reserved[i];
      sum_of_reserved += reserved[i];
    }
  }
  for (Entry& entry : entries_) {
    if (sum <= options_.copied_bytes_max) break;
    entry.snapshot->kill("the snapshots held more copied memory than allowed");
    sum -= entry.copied_bytes;
  }
  counters_.copied_bytes = sum + sum_of_reserved;
}

Snapshots::Counters Snapshots::counters() const {
  std::lock_guard<std::mutex> lock(mutex_);
  Counters counters = counters_;
  counters.live = static_cast<uint32_t>(entries_.size());
  if (entries_.empty()) counters.copied_bytes = 0;
  for (const Entry& entry : entries_) counters.pinned += is_used(entry) ? 1 : 0;
  if (!entries_.empty()) {
    counters.oldest_age_us = (clock_.monotonic_ns() - entries_.front().fork_start_ns) / kNsPerUs;
  }
  return counters;
}

}  // namespace scyper::query
