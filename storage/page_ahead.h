#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstddef>
#include <thread>

namespace scyper::storage {

// Faults the pages in that an arena will hand out next, on a thread of its own: on a virtual machine whose host backs
// memory on first touch, clearing fresh pages took 11 to 15 % of a worker's time in TPC-C (0.8 to 1 us a transaction).
// As much as is in use is kept ahead, 2 to 64 MB, within `limit_bytes` from `base`.
// A kernel without MADV_POPULATE_WRITE (before 5.14), or memory that runs out, ends the thread: pages then fault on
// touch. Threads: reached() any. Fork: the child has no such thread and need not. It may allocate, so there is no lock
// here, which the thread could hold at the fork; fork() itself waits for at most one step of 2 MB.
class PageAhead {
 public:
  PageAhead(char* base, size_t limit_bytes);
  ~PageAhead();
  PageAhead(const PageAhead&) = delete;
  PageAhead& operator=(const PageAhead&) = delete;

  // Memory up to base + bytes is handed out.
  void reached(size_t bytes);
  size_t ready_bytes() const { return ready_; }  // up to there pages may have been faulted in

 private:
  void run();
  bool has_work() const;

  char* const base_;
  const size_t limit_bytes_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> woken_{false};  // wake_ was posted, and the thread has not looked since
  std::atomic<size_t> reached_{0};
  std::atomic<size_t> ready_{0};  // pages below base_ + ready_ were faulted in; written by the thread
  sem_t wake_;
  std::thread thread_;
};

}  // namespace scyper::storage
