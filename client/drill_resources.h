#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace scyper::client {

// What processes take of the machine, in all.
struct DrillResources {
  int64_t memory_bytes = 0;     // resident,
  int64_t anonymous_bytes = 0;  // and of it what is no file's: programs and libraries come and go with their use
  int64_t descriptors = 0;
  int64_t children = 0;

  // Whether nobody holds more descriptors or children than before.
  bool is_back(const DrillResources& before) const {
    return descriptors <= before.descriptors && children <= before.children;
  }
  // Of each the least of both.
  void lower(const DrillResources& other);
  std::string describe() const;
};
// A process that has gone counts as nothing.
DrillResources read_resources(std::span<const pid_t> pids);
std::vector<pid_t> children_of(pid_t pid);

// How much more memory the last third of these levels takes than the first, as a share: one level swings with who
// leads, and since when, by more than what is looked for.
double memory_drift(std::span<const DrillResources> levels);

}  // namespace scyper::client
