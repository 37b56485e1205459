#pragma once

#include <cstdint>
#include <string>

#include "query/fork.h"

namespace scyper::query {

struct ChildServerOptions {
  uint32_t partitions = 1;
  uint32_t threads_max = 16;  // queries at once
  std::string spill_directory;
  uint64_t spill_bytes_max = 0;  // of one query
  bool is_confined = false;      // enter_sandbox() (snapshot/sandbox.h)
};

// The life of a snapshot: serves its parent's requests (messages.h) until the socket ends. Returns the exit code.
// Fork: for the child only. Takes the arena's lock, free at the fork; all other state it made itself.
int serve_snapshot(const ForkedDatabase& forked, const ChildServerOptions& options, int socket) noexcept;

}  // namespace scyper::query
