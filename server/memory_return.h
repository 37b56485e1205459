#pragma once

#include <cstddef>

#include "base/ticker.h"

namespace scyper::server {

// Gives memory back to the system that the allocator keeps for later. After large messages or results that can be
// several times what the node needs.
// Threads: the owner's, and one of its own.
class MemoryReturn {
 public:
  MemoryReturn();

 private:
  void look();

  size_t before_bytes_ = 0;  // its thread's: free the last time
  Ticker ticker_;
};

}  // namespace scyper::server
