#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace scyper::storage {

// The system's pool of huge pages of 2 MB, in pages. free: not in use, promised ones included; promised: to mappings
// that have not touched them yet. is_known: false where the system does not say.
struct HugePagePool {
  bool is_known = false;
  uint64_t total = 0;
  uint64_t free = 0;
  uint64_t promised = 0;

  uint64_t available() const { return free > promised ? free - promised : 0; }
};
HugePagePool read_huge_page_pool();

// Whether this process has memory of reserved pages, counted by those that map it. Threads: any.
bool has_reserved_pages();
void count_reserved_mapping(int change);

// After a fork the first write to each reserved huge page copies all 2 MB of it, while a transaction waits. This thread
// writes to them before the transactions do (MADV_POPULATE_WRITE: the kernel copies, no byte is touched), the newest
// memory first, at most `bytes_per_second`, as long as a child lives.
// It leaves a quarter of what the pool has beside the mapping, counted over all living children: for transactions,
// whose copies take pages from children when there are none left, and end these (arena.h). A kernel without
// MADV_POPULATE_WRITE (before 5.14) copies on touch. Threads: any. Fork: the child has no such thread.
class CopyAhead {
 public:
  // mapped_bytes: of the mapping at base, all from the pool.
  CopyAhead(char* base, size_t mapped_bytes, uint64_t bytes_per_second);
  ~CopyAhead();
  CopyAhead(const CopyAhead&) = delete;
  CopyAhead& operator=(const CopyAhead&) = delete;

  // `child` has been forked, and not been waited for: it shares the pages below base + bytes.
  void forked(pid_t child, size_t bytes);
  uint64_t pages_copied() const { return pages_copied_.load(std::memory_order_relaxed); }

 private:
  void run();
  void copy_all(size_t bytes);
  bool has_child();

  char* const base_;
  const size_t mapped_bytes_;
  const uint64_t bytes_per_second_;
  std::atomic<uint64_t> pages_copied_{0};
  std::vector<int> children_;  // their pidfds; the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> is_stopping_{false};
  std::vector<int> new_children_;  // under mutex_, as is the next
  size_t bytes_ = 0;
  std::thread thread_;
};

}  // namespace scyper::storage
