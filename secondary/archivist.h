#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/disk.h"
#include "query/fork.h"
#include "replay/archive.h"
#include "replay/archive_child.h"
#include "replay/own_archive.h"
#include "replay/recovery.h"
#include "replay/request_window.h"
#include "storage/frozen_tier.h"
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
    storage::FrozenTier* tier = nullptr;                 // of the node; its own archives name the files. May be null
    std::function<void(const std::string&)> on_damage;   // of its own archives: a line for people. May be empty
    std::function<void(const std::string&)> on_warning;  // the same, when they could not be checked. May be empty
  };
  // Returns when the node's own log, if it keeps one, has everything up to that LSN.
  using WaitLogged = std::function<Status(uint64_t, const replay::ArchiveChild::Interruption&)>;
  Archivist(const Options& options, Disk* disk, const replay::NodeIdentity& identity, replay::RequestWindow* requests,
            query::Forker fork, WaitLogged wait_logged)
      : options_(options),
        disk_(disk),
        identity_(identity),
        requests_(requests),
        fork_(std::move(fork)),
        wait_logged_(std::move(wait_logged)),
        own_(disk, options.tier) {}
  // The archive that the node has begun with, if it is one of its own.
  void set_base(std::shared_ptr<const storage::ArchiveBase> base) { own_.set(std::move(base)); }

  bool has_place() const { return !options_.own.empty() || !options_.shared.empty(); }
  struct Written {
    replay::ArchiveResult result;
    std::string path;
    uint64_t oldest_own_lsn = 0;  // of the archives that are kept: no log before is needed. 0: not all are there yet
  };
  // archives: where to, a store too if there is a directory of its own; empty: own or shared.
  StatusOr<Written> write(const std::string& archives, uint64_t term);
  // Of the newest archive in the shared directory.
  uint64_t shared_lsn() const;
  // Whoever writes gives up, now and later: 57P03.
  void stop() { child_.stop(); }

 private:
  // is_found: there was one of this LSN; may be null.
  StatusOr<replay::ArchiveResult> write_to(const std::string& archives, uint64_t term, bool* is_found);
  StatusOr<std::string> copy(const std::string& path, const std::string& to);
  Status share(const std::string& path, uint64_t lsn);
  StatusOr<Written> write_own(uint64_t term);
  Status retire_shared();

  const Options options_;
  Disk* const disk_;
  const std::unique_ptr<Disk> stores_ = storage::make_disk_with_stores();  // for the shared place
  const replay::NodeIdentity identity_;
  replay::RequestWindow* const requests_;
  const query::Forker fork_;
  const WaitLogged wait_logged_;
  std::mutex writing_;
  replay::ArchiveChild child_;
  replay::OwnArchive own_;
};

}  // namespace scyper::secondary
