#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.h"
#include "query/catalog.h"
#include "query/database.h"
#include "storage/child_process.h"

namespace scyper::query {

// The cut of a fork: exactly the transactions with LSNs up to `lsn`. Immutable.
struct ForkPoint {
  uint64_t lsn = 0;
  uint64_t number = 0;  // of this node's forks, from 1
  // Epoch of the global snapshot that this is (docs/replication.md): the same cut on every node. snapshot 0: it is
  // none.
  uint64_t term = 0;
  uint32_t snapshot = 0;
  int64_t time_us = 0;       // since 1970
  int64_t monotonic_ns = 0;  // when this was all that had been committed, as far as the node knows
  std::shared_ptr<const query::Catalog> catalog;
  // What it cost. stall: from the first to the last moment in which no transaction could run; fork: the system call.
  int64_t stall_ns = 0;
  int64_t fork_ns = 0;
  uint32_t unfinished = 0;  // transactions that the child has taken back
};

// What `body` finds in the child: tables as of `point`, no transaction unfinished.
struct ForkedDatabase {
  query::Database* database = nullptr;  // catalog() is free to be read; its other functions are the parent's
  ForkPoint point;                      // without costs
};

struct ForkRequest {
  storage::ChildOptions child;
  // Runs in the child: what it may do says storage::ChildProcess. The arena's lock and the tables are free; all locks
  // of engine, jit and server are not.
  std::function<int(const ForkedDatabase& database, int socket)> body;
  // Runs in the parent at the cut, while no transaction runs: must be quick. May be empty.
  std::function<void(const ForkPoint& point)> at_cut;
};

struct Forked {
  std::unique_ptr<storage::ChildProcess> child;
  ForkPoint point;
};

// What forks: a primary's gate, a secondary's replay.
using Forker = std::function<StatusOr<Forked>(ForkRequest)>;

}  // namespace scyper::query
