#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace scyper::server {

// Threads for work that blocks: compiling, running statements, waiting for slow readers. The gRPC threads never do.
// Threads: try_run, run_next from any; stop() once, by the owner.
class ThreadPool {
 public:
  ThreadPool(size_t threads, size_t queue_max);
  ~ThreadPool() { stop(); }
  // False when the queue is full or the pool has stopped.
  bool try_run(std::function<void()> task);
  // The next step of what has begun: the queue's bound is for what could be refused. False: it has stopped.
  bool run_next(std::function<void()> task);
  // Runs what was accepted, then ends the threads.
  void stop();

 private:
  bool push(std::function<void()> task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void loop();

  const size_t queue_max_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace scyper::server
