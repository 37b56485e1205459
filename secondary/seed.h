#pragma once

#include <memory>
#include <string>

#include "replay/data_lock.h"
#include "replay/recovery.h"
#include "replay/request_window.h"
#include "secondary/node.h"

namespace scyper::secondary {

// What a node knows when its first state is in memory.
struct Seed {
  replication::JoinInfo primary;
  replay::NodeIdentity identity;
  replay::Recovered recovered;
  std::unique_ptr<query::Database> database;
  std::unique_ptr<replay::RequestWindow> requests;
  std::string directory;  // log and archives; empty: none
  replay::DataLock lock;  // of it
  std::string source;     // NodeInfo::seeded_from
  uint64_t peer_failures = 0;
};
// Joins: finds the primary, then the newest state that can be had: this node's own, an archive of the shared directory,
// the primary's archive, or nothing where the log reaches back to the beginning.
// 55000 after keep_history().
StatusOr<Seed> make_seed(const NodeOptions& options, Disk* disk, replication::Link* link);
// Whether this node has an RDMA device for archives and the log, as far as its settings say.
bool may_have_bulk(const NodeOptions& options);
// Whether other secondaries are asked for what this node lacks: not where the primary gives it by RDMA, nor for
// some of the partitions.
bool asks_peers(const NodeOptions& options, const replication::JoinInfo& primary);
// The primary lacks what this directory has: no secondary starts on it, and nothing of it is removed, until a person
// has decided. why: a line for people, kept in the directory.
Status keep_history(Disk* disk, const std::string& data_directory, const std::string& why);

}  // namespace scyper::secondary
