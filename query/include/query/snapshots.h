#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "query/fork.h"

namespace scyper::query {

class Snapshot;

struct SnapshotOptions {
  int64_t period_us = 0;               // a new one so often while transactions commit; 0 = on demand only
  int64_t distance_us_min = 0;         // between two forks; fresh queries wait so long
  int64_t unused_us_max = 2'000'000;   // a snapshot that nobody uses goes after this, the newest one too
  int64_t age_us_max = 3'600'000'000;  // older ones go, pinned or not
  uint32_t count_max = 16;
  uint64_t copied_bytes_max = uint64_t{4} << 30;  // of all together; over it the oldest goes, pinned or not
  int nice = 10;                                  // of the children, beside the workers' 0
  uint32_t threads_max = 16;                      // queries at once in one child
  std::string spill_directory;                    // of temporary files of queries; "" = the system's
  uint64_t spill_bytes_max = uint64_t{8} << 30;   // of one query, beside its memory
};

// What a query asks of its snapshot.
struct Freshness {
  enum class Kind : uint8_t {
    kFresh,      // everything committed before the request (order-preserving serialisable)
    kStaleness,  // everything committed staleness_us before the request
    kAtLeast,    // everything up to `lsn`
    kGlobal,     // global snapshot `snapshot` of `term`, as of a ticket; or a newer one, unless is_exact
  };
  Kind kind = Kind::kFresh;
  int64_t staleness_us = 0;
  uint64_t lsn = 0;
  uint64_t term = 0;
  uint32_t snapshot = 0;
  bool is_exact = false;
};

// All snapshots of a node.
// Invariants: (1) a snapshot given out contains what its Freshness says; (2) requests that wait share the next fork;
//   (3) a snapshot in use is dropped only by its caps (age, copied memory), with a clear error for its queries.
// Threads: all calls any; owns one that forks and drops.
class Snapshots {
 public:
  // Returns when what the commit mode promises holds for everything up to the LSN; or with what the second says, which
  // it asks now and then: why not to wait any longer.
  using WaitDurable = std::function<Status(uint64_t lsn, const std::function<Status()>& interruption)>;
  struct Environment {
    Forker fork;
    std::function<uint64_t()> current_lsn;  // of the last transaction that may have committed
    std::function<uint64_t()> catalog_version;
    WaitDurable wait_durable;  // empty = at once
    // Of a secondary, in monotonic time: since when its state is known to hold all that had been committed then.
    // Empty: it always does.
    std::function<int64_t()> state_ns;
    // And waits until that is not before a moment; 57P03 where it does not come to that, at the deadline at the latest.
    std::function<Status(int64_t not_before_ns, int64_t deadline_ns)> wait_current;
    uint32_t partitions = 1;
  };
  struct Counters {
    uint64_t forks = 0;
    uint64_t failed_forks = 0;
    uint64_t lost = 0;  // died or were killed
    uint64_t dropped = 0;
    int64_t stall_ns = 0;  // sums over all forks
    int64_t fork_ns = 0;
    int64_t stall_ns_max = 0;
    uint64_t unfinished = 0;  // transactions taken back in children
    uint32_t live = 0;
    uint32_t pinned = 0;
    uint64_t copied_bytes = 0;  // a second old
    int64_t oldest_age_us = 0;
  };

  Snapshots(Environment environment, const SnapshotOptions& options);
  ~Snapshots();  // kills all children

  // A use of a snapshot: it lives at least as long, its caps aside.
  using Use = std::shared_ptr<Snapshot>;
  // Waits for a fork where one is needed. 57014 at the deadline (monotonic ns, 0 = none), 53300 at the cap of
  // snapshots, 55000 when the LSN has not been reached.
  // Global ones are not made here: it waits until take_global() brings them; 55000 when they do not come: after
  // kGlobalWaitUs, or at once when take_global() or miss_global() has passed them.
  StatusOr<Use> acquire(const Freshness& freshness, int64_t deadline_ns);
  // 57P03 for all who wait and come: nothing is forked any more. What runs on a snapshot goes on.
  void stop();
  // A secondary's replay stands at the cut of a global snapshot: forks by `fork`, here and now.
  Status take_global(uint64_t term, uint32_t snapshot, const Forker& fork);
  // It has passed it without a fork.
  void miss_global(uint64_t term, uint32_t snapshot, const Status& why);
  Counters counters() const;
  // Since when the state of a snapshot is known not to have been the newest one; now: it still is.
  int64_t as_of_ns(const Snapshot& snapshot) const;

 private:
  struct Entry {
    std::shared_ptr<Snapshot> snapshot;
    int64_t fork_start_ns = 0;
    uint64_t catalog_version = 0;
    int64_t unused_since_ns = 0;  // 0 = in use when last looked
    uint64_t copied_bytes = 0;
  };

  void run();
  void fork_one(std::unique_lock<std::mutex>* lock);
  Status add_fork(const Forker& fork, int64_t start_ns, std::unique_lock<std::mutex>* lock);
  StatusOr<Use> wait_for_global(const Freshness& freshness, int64_t deadline_ns);
  Use find_global(const Freshness& freshness) const;
  bool is_passed(const Freshness& freshness) const;
  void pass_global(uint64_t term, uint32_t snapshot, const Status& status);
  void tend(std::unique_lock<std::mutex>* lock);
  void measure(std::unique_lock<std::mutex>* lock);
  bool make_room();
  int64_t next_fork_ns(int64_t now_ns) const;
  Use find(const Freshness& freshness, int64_t asked_ns);
  static bool is_used(const Entry& entry);

  const Environment environment_;
  const SnapshotOptions options_;
  const RealClock clock_;
  mutable std::mutex mutex_;                       // all that follows
  std::condition_variable wake_;                   // the thread
  std::condition_variable forked_;                 // those who wait
  std::list<Entry> entries_;                       // oldest first
  std::vector<std::shared_ptr<Snapshot>> doomed_;  // destroyed without the lock
  uint32_t waiting_ = 0;
  int64_t wanted_ns_ = 0;  // of those who wait: the latest request; a fork that began after it serves all
  int64_t last_fork_ns_ = 0;
  int64_t measured_ns_ = 0;
  uint64_t attempts_ = 0;  // forks tried
  int64_t attempt_start_ns_ = 0;
  Status last_failure_;
  uint64_t global_term_ = 0;  // of the newest global snapshot that replay has come to,
  uint32_t global_ = 0;
  Status global_failure_;  // and why it is not there
  Counters counters_;
  bool is_forking_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace scyper::query
