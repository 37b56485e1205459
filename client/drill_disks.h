#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace scyper::client {

// Small disks of their own, in memory, that can be filled. Only this process and those that it starts see them, so that
// they go with these, however they end. Needs root. Threads: before there are others.
class DrillDisks {
 public:
  ~DrillDisks();
  // Mounts one at each of the directories, which are made. 42501: that is not allowed here.
  Status make(const std::vector<std::string>& directories);
  // Takes all the room that there is, and gives it back.
  Status fill(const std::string& directory) const;
  Status empty(const std::string& directory) const;

 private:
  std::vector<std::string> mounted_;
};

}  // namespace scyper::client
