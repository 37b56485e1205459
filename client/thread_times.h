#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace scyper::client {

// What threads have computed, how long they could have and had no core, and the pages that they had to fault in or
// copy.
struct ThreadTimes {
  double cpu_ms = 0;
  double wait_ms = 0;
  uint64_t faults = 0;
};

// Of this process by name of the threads, so far: threads that have ended as "ended", children that have ended as
// "children" (their waiting is not known). Threads of one name are added up. Empty where the kernel does not tell.
std::map<std::string, ThreadTimes> thread_times();
// What came in between; without what did not compute.
std::map<std::string, ThreadTimes> difference(const std::map<std::string, ThreadTimes>& before,
                                              const std::map<std::string, ThreadTimes>& after);

// Of all its threads: on a busy machine a better measure than the clock.
double process_cpu_s();

}  // namespace scyper::client
