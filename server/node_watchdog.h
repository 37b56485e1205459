#pragma once

#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "primary/engine.h"

namespace scyper::server {

// What there is to do on the commit path of a primary, and what was done of it.
struct CommitSample {
  uint64_t waiting = 0;   // transactions in queues
  uint64_t finished = 0;  // committed or rolled back
  uint64_t last_lsn = 0, durable_lsn = 0, confirmed_lsn = 0;
  bool waits_for_room = false;  // the disk is full: no restart makes room
  int64_t processor_ns = 0;     // of the process
  int64_t time_ns = 0;
};
// Whether the path is stuck between two samples: what was in the log before is still not durable and nothing has become
// durable; or transactions wait, none has ended, and nobody computes. Commits that wait for other nodes are not stuck,
// nor a transaction that takes long.
bool is_stuck(const CommitSample& before, const CommitSample& now);

// Tells systemd that this node works, where it asks for that (WatchdogSec=): it kills a process that is silent for so
// long. A primary says so only while its commit path is not stuck; a node without one always does, as it may recover,
// join or wait for an election as long as it takes.
// Threads: the owner's; one of its own, where systemd asks.
class NodeWatchdog {
 public:
  NodeWatchdog() = default;
  ~NodeWatchdog();
  NodeWatchdog(const NodeWatchdog&) = delete;
  NodeWatchdog& operator=(const NodeWatchdog&) = delete;

  // Once, where the process may have threads.
  void start();
  // A primary's engine, until unwatch(), which is to come before it ends.
  void watch(const primary::Engine* engine);
  void unwatch() { watch(nullptr); }

 private:
  void run(int64_t period_ns);
  bool works() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  const primary::Engine* engine_ ABSL_GUARDED_BY(mutex_) = nullptr;
  CommitSample before_ ABSL_GUARDED_BY(mutex_);  // time 0: none yet
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace scyper::server
