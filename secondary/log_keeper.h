#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/disk.h"
#include "replay/recovery.h"
#include "replication/inbox.h"
#include "storage/log_segment.h"

namespace scyper::secondary {

// A secondary's own log: the primary's groups byte for byte, so that it restarts from its own disk and counts in mode
// quorum_durable. Threads: one.
class LogKeeper {
 public:
  static StatusOr<std::unique_ptr<LogKeeper>> open(Disk* disk, const std::string& directory,
                                                   const replay::NodeIdentity& identity,
                                                   const replay::Recovered& recovered, uint64_t segment_bytes,
                                                   uint64_t retention_bytes);
  // On the disk when it returns.
  Status append(const replication::Inbox::Group& group, int64_t time_us);
  // The same of several, as a segment of their own. Positions are the first one's.
  Status append_all(const std::vector<replication::Inbox::Group>& groups, int64_t time_us);
  // Makes the next segment ahead of use, when there is none.
  Status prepare_next() { return appender_->prepare_next(); }
  // Segments that have nothing beyond.
  Status drop_before(uint64_t lsn);
  const std::vector<storage::LogAppender::Existing>& segments() const { return segments_; }
  uint64_t made_segment() const { return appender_->made_segment(); }
  uint64_t bytes_written() const { return appender_->bytes_written(); }

 private:
  LogKeeper(std::unique_ptr<storage::LogAppender> appender, std::vector<storage::LogAppender::Existing> segments)
      : appender_(std::move(appender)), segments_(std::move(segments)) {}

  const std::unique_ptr<storage::LogAppender> appender_;
  std::vector<storage::LogAppender::Existing> segments_;
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char[], Free> block_;
  size_t block_bytes_ = 0;
};

}  // namespace scyper::secondary
