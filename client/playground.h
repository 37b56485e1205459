#pragma once

#include <cstdint>
#include <string>

#include "programs.h"

namespace scyper::client {

// A cluster on this machine, as processes of their own on loopback.
struct PlaygroundOptions {
  uint32_t secondaries = 2;
  std::string load;       // "ch:W": CH-benCHmark's data with W warehouses; empty = none
  std::string directory;  // data and logs; empty = one below /tmp that goes with the playground
  uint16_t port = 7400;   // of the primary; the secondaries' follow
  std::string memory = "1GB";
  std::string commit_mode = "local";
  bool elects = false;       // the nodes elect their primary, and etcd is started as well
  bool is_detached = false;  // ends at once and leaves the nodes running
  bool stops = false;        // ends the nodes of `directory`
  bool shows_address = false;
};
int run_playground(const CommonOptions& common, const PlaygroundOptions& options);

}  // namespace scyper::client
