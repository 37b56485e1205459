#pragma once

#include <cstddef>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace scyper::storage {

// Faults the pages in that an arena will hand out next, on a thread of its own: on a virtual machine whose host backs
// memory on first touch, clearing fresh pages took 11 to 15 % of a worker's time in TPC-C (0.8 to 1 us a transaction).
// As much as is in use is kept ahead, 2 to 64 MB, within `limit_bytes` from `base`.
// A kernel without MADV_POPULATE_WRITE (before 5.14), or memory that runs out, ends the thread: pages then fault on
// touch. Threads: reached() any. Fork: the child has no such thread and need not; fork() waits for at most one step of
// 2 MB.
class PageAhead {
 public:
  PageAhead(char* base, size_t limit_bytes);
  ~PageAhead();
  PageAhead(const PageAhead&) = delete;
  PageAhead& operator=(const PageAhead&) = delete;

  // Memory up to base + bytes is handed out.
  void reached(size_t bytes);

 private:
  void run();
  bool has_work() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  char* const base_;
  const size_t limit_bytes_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  size_t reached_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t ready_ ABSL_GUARDED_BY(mutex_) = 0;  // pages below base_ + ready_ were faulted in
  std::thread thread_;
};

}  // namespace scyper::storage
