#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/disk.h"
#include "base/mutex.h"
#include "base/status.h"
#include "query/catalog.h"
#include "replay/archive.h"
#include "storage/archive.h"
#include "storage/frozen_tier.h"

namespace scyper::replay {

// The newest archive in a node's data directory, and how the tables' chunks have changed since: what the next one need
// not write, and what damaged chunks of the node's tier are made anew of (storage/evictor.h says when).
// Threads: any. Owner: whoever writes the archives; goes before the tier.
class OwnArchive {
 public:
  // tier: may be null, then nothing is repaired.
  OwnArchive(Disk* disk, storage::FrozenTier* tier);
  ~OwnArchive();
  OwnArchive(const OwnArchive&) = delete;
  OwnArchive& operator=(const OwnArchive&) = delete;

  // From the state of this one on, marks count: those that tables have, and have been taken for it. Null: there is
  // none.
  void set(std::shared_ptr<const storage::ArchiveBase> archive) ABSL_LOCKS_EXCLUDED(mutex_);
  // The next archive relies on nothing before.
  void write_whole() ABSL_LOCKS_EXCLUDED(mutex_);
  // What it may rely on; null: nothing.
  std::shared_ptr<const storage::ArchiveBase> base() const ABSL_LOCKS_EXCLUDED(mutex_);
  // At the cut of an own archive of the present state, while nobody commits: what it need not write, for which the
  // tables' marks are taken, and that it names files of the tier, which stay.
  void begin(const query::Catalog& catalog, uint64_t lsn, ArchiveOptions* options) ABSL_LOCKS_EXCLUDED(mutex_);
  // The archive at `path` has been written so: set().
  Status finish(const std::string& path) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::shared_ptr<storage::ArchiveBase> take_base(const query::Catalog& catalog) ABSL_LOCKS_EXCLUDED(mutex_);
  StatusOr<std::string> freeze(const storage::Table& table, uint32_t partition, uint32_t chunk)
      ABSL_LOCKS_EXCLUDED(mutex_);

  Disk* const disk_;
  storage::FrozenTier* const tier_;
  mutable Mutex mutex_;
  std::shared_ptr<const storage::ArchiveBase> newest_ ABSL_GUARDED_BY(mutex_);
  bool is_whole_next_ ABSL_GUARDED_BY(mutex_) = false;
  storage::ChangedChunks changed_ ABSL_GUARDED_BY(mutex_);  // since newest_, as far as taken from the tables
};

}  // namespace scyper::replay
