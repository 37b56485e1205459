#pragma once

#include <memory>
#include <vector>

#include "query/database.h"
#include "replay/compaction.h"
#include "replay/data_lock.h"
#include "replay/recovery.h"
#include "replay/request_window.h"
#include "replication/parcel.h"

namespace scyper::replay {

// What recovery of a data directory would give, from a part of this process that has it in memory: a secondary that
// becomes primary. The directory is its own still, the log has nothing that is not in the tables, and nothing appends.
struct WarmState {
  DataLock lock;
  NodeIdentity identity;
  std::shared_ptr<query::Database> database;
  std::unique_ptr<Compaction> compaction;  // of the database; null: there is none
  std::unique_ptr<RequestWindow> requests;
  Recovered recovered;
  // The end of the log, for those who follow next: without gaps.
  std::vector<replication::Parcel> newest;
  uint64_t made_segment = 0;  // of the log: storage::LogAppender::Options
};

}  // namespace scyper::replay
