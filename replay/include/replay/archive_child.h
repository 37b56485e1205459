#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "base/disk.h"
#include "base/status.h"
#include "query/fork.h"
#include "replay/archive.h"
#include "storage/archive.h"

namespace scyper::replay {

// Writes archives beside the work of a node: in forked children, which say how far they are and ask before the manifest
// gets its name, so that no archive is ahead of the log. What an attempt that fails has written is removed.
// Threads: write() one at a time; all else any.
class ArchiveChild {
 public:
  // Asked now and then by who waits: why not to wait any longer.
  using Interruption = std::function<Status()>;
  struct Request {
    std::string archives;  // where to
    int nice = 0;
    storage::ArchiveManifest manifest;  // cluster, term, partitions; the cut comes with the fork
    ArchiveOptions options;             // on_progress is called in this process
    // In this process at the cut, while nothing runs: what the archive has beside definitions and rows, and its base.
    std::function<void(const query::ForkPoint&, storage::ArchiveManifest*, ArchiveOptions*)> at_cut;
    // Returns when the log has everything up to the LSN.
    std::function<Status(uint64_t lsn, const Interruption&)> wait_logged;
  };
  // 58030 when the child cannot write or dies; 57P03 after stop().
  StatusOr<ArchiveResult> write(Disk* disk, const query::Forker& fork, Request request);
  // Nothing is written any more, now and later.
  void stop();
  // 57P03 after stop().
  Status interruption() const;

 private:
  StatusOr<ArchiveResult> wait_for(query::Forked* forked, const Request& request);

  mutable std::mutex mutex_;  // the next two
  bool is_stopped_ = false;
  storage::ChildProcess* child_ = nullptr;
};

}  // namespace scyper::replay
