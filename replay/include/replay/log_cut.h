#pragma once

#include <string>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "replay/log_scan.h"
#include "replication/log_terms.h"

// A node's log that has another end than its primary's: where, and cutting it there (docs/failover.md, Rejoin).
namespace scyper::replay {

using replication::TermStart;

// Adds the terms of the next segment of a log.
void add_terms(const ScannedSegment& segment, std::vector<TermStart>* terms);

struct LogTerms {
  std::vector<TermStart> starts;
  uint64_t lsn = 0;  // where the log ends
};
// Of all that is there. Errors: LogScan's.
StatusOr<LogTerms> read_log_terms(Disk* disk, const std::string& directory, const replication::ClusterId& cluster);

// Removes what the log of a data directory has behind `lsn`, where a group ends, and the archives that have more; the
// node does not run. What is left is a state that recovery finds, also after a crash in between. aside: a directory
// that gets copies of the segments concerned before, as if it were another data directory, in place of those of an
// earlier cut; empty: none.
// OutOfRange, and nothing is removed: no group ends there, or no archive would be left that the log goes on from.
Status cut_log(Disk* disk, const std::string& directory, const replication::ClusterId& cluster, uint64_t lsn,
               const std::string& aside);

}  // namespace scyper::replay
