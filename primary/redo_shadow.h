#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "query/database.h"
#include "replay/recovery.h"
#include "replay/replayer.h"

namespace scyper::primary {

// A second database in the primary's process. It replays each group of the log before the group's commits are
// acknowledged, so a record that no start could apply ends the test that made it. At the end its tables are compared
// with the primary's. Builds without NDEBUG have one (LogOptions::shadows_redo); it doubles the memory of the tables.
// Threads: start() and compare() the owner's, apply() the log writer's.
class RedoShadow {
 public:
  struct Start {
    query::DatabaseOptions database;  // the primary's
    Disk* disk = nullptr;
    std::string directory;
    replay::NodeIdentity identity;
    uint64_t lsn = 0;  // of the state that the primary has recovered from the directory
  };
  // Recovers the state from the directory as the primary did. The directory does not change.
  static StatusOr<std::unique_ptr<RedoShadow>> start(Start start);

  // batches: of one group, which ends with complete_lsn. XX000 with the reason when a record cannot be applied. The
  // shadow freezes no chunk, so its memory may fill before the primary's: then it logs that and checks nothing more.
  Status apply(std::string_view batches, uint64_t complete_lsn);

  // Nothing may change either database meanwhile. XX000 names the partitions of tables whose rows differ. Says nothing
  // if the shadow has not replayed up to lsn.
  Status compare(const query::Database& primary, uint64_t lsn) const;

 private:
  RedoShadow() = default;

  std::unique_ptr<query::Database> database_;
  std::unique_ptr<replay::Replayer> replayer_;
  replication::ClusterId cluster_;
  uint64_t lsn_ = 0;           // of its state
  bool has_given_up_ = false;  // for lack of memory
};

}  // namespace scyper::primary
