#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/disk.h"
#include "query/fork.h"
#include "replay/archive.h"
#include "replay/recovery.h"
#include "replay/request_window.h"
#include "storage/object_store.h"

namespace scyper::secondary {

// Writes a secondary's archives, so that the primary need not: children of forks at borders of groups write them to the
// node's own directory, from where the newest is copied to the shared place; a node without a directory of its own
// writes to the shared one, which then is no store. Older ones than the newest few go. Threads: write() one at a time;
// stop() any.
class Archivist {
 public:
  struct Options {
    std::string node;
    std::string own;     // archives of the data directory; empty: none
    std::string shared;  // a directory or a store (storage/object_store.h); empty: none
    uint64_t bytes_per_second_max = 0;
    uint32_t kept = 2;
  };
  using Fork = std::function<StatusOr<query::Forked>(query::ForkRequest)>;
  Archivist(const Options& options, Disk* disk, const replay::NodeIdentity& identity, replay::RequestWindow* requests,
            Fork fork)
      : options_(options), disk_(disk), identity_(identity), requests_(requests), fork_(std::move(fork)) {}

  bool has_place() const { return !options_.own.empty() || !options_.shared.empty(); }
  struct Written {
    replay::ArchiveResult result;
    std::string path;
    uint64_t oldest_own_lsn = 0;  // of the archives that are kept: no log before is needed. 0: not all are there yet
  };
  // archives: where to; empty: own or shared.
  StatusOr<Written> write(const std::string& archives, uint64_t term);
  // Of the newest archive in the shared directory.
  uint64_t shared_lsn() const;
  // Whoever writes gives up.
  void stop();

 private:
  StatusOr<replay::ArchiveResult> write_to(const std::string& archives, uint64_t term);
  Status share(const std::string& path, uint64_t lsn);
  StatusOr<uint64_t> retire(Disk* disk, const std::string& archives);

  const Options options_;
  Disk* const disk_;
  const std::unique_ptr<Disk> stores_ = storage::make_disk_with_stores();  // for the shared place
  const replay::NodeIdentity identity_;
  replay::RequestWindow* const requests_;
  const Fork fork_;
  std::mutex writing_;
  std::mutex mutex_;  // the next two
  bool is_stopping_ = false;
  storage::ChildProcess* child_ = nullptr;
};

}  // namespace scyper::secondary
