#pragma once

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace scyper::server {

// Gives memory back to the system that the allocator keeps for later. After large messages or results that can be
// several times what the node needs.
// Threads: the owner's, and one of its own.
class MemoryReturn {
 public:
  MemoryReturn();
  ~MemoryReturn();
  MemoryReturn(const MemoryReturn&) = delete;
  MemoryReturn& operator=(const MemoryReturn&) = delete;

 private:
  void run();

  absl::Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace scyper::server
