#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

namespace scyper::client {

// What processes take of the machine, in all.
struct DrillResources {
  int64_t memory_bytes = 0;  // resident
  int64_t descriptors = 0;
  int64_t children = 0;

  // Whether it is what it was, but for so much of the memory.
  bool is_back(const DrillResources& before, double memory_share) const;
  std::string describe() const;
};
// A process that has gone counts as nothing.
DrillResources read_resources(std::span<const pid_t> pids);

}  // namespace scyper::client
