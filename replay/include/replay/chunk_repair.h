#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/disk.h"
#include "base/mutex.h"
#include "base/status.h"
#include "storage/archive.h"
#include "storage/frozen_tier.h"

namespace scyper::replay {

// Gives a node's tier the rows of damaged chunks back, from the newest of the node's own archives
// (storage/evictor.h says when).
// Threads: any. Owner: whoever writes the archives; goes before the tier.
class ChunkRepair {
 public:
  // tier: may be null, then nothing is repaired.
  ChunkRepair(Disk* disk, storage::FrozenTier* tier);
  ~ChunkRepair();
  ChunkRepair(const ChunkRepair&) = delete;
  ChunkRepair& operator=(const ChunkRepair&) = delete;

  // The newest archive, from whose state on marks count; null: none can be used.
  void set_base(std::shared_ptr<const storage::ArchiveBase> base) ABSL_LOCKS_EXCLUDED(mutex_);
  // Marks that have been taken from tables since. Before anybody commits again.
  void note_changed(const storage::ChangedChunks& changed) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  StatusOr<std::string> freeze(const storage::Table& table, uint32_t partition, uint32_t chunk)
      ABSL_LOCKS_EXCLUDED(mutex_);

  Disk* const disk_;
  storage::FrozenTier* const tier_;
  Mutex mutex_;
  std::shared_ptr<const storage::ArchiveBase> base_ ABSL_GUARDED_BY(mutex_);
  storage::ChangedChunks changed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace scyper::replay
