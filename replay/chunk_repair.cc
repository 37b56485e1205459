#include "replay/chunk_repair.h"

#include <algorithm>
#include <utility>

namespace scyper::replay {

ChunkRepair::ChunkRepair(Disk* disk, storage::FrozenTier* tier) : disk_(disk), tier_(tier) {
  if (tier_ == nullptr) return;
  tier_->set_chunk_source([this](const storage::Table& table, uint32_t partition, uint32_t chunk) {
    return freeze(table, partition, chunk);
  });
}

ChunkRepair::~ChunkRepair() {
  if (tier_ != nullptr) tier_->set_chunk_source({});
}

void ChunkRepair::set_base(std::shared_ptr<const storage::ArchiveBase> base) {
  MutexLock lock(&mutex_);
  base_ = std::move(base);
  changed_.clear();
}

void ChunkRepair::note_changed(const storage::ChangedChunks& changed) {
  MutexLock lock(&mutex_);
  changed_ = changed;
}

StatusOr<std::string> ChunkRepair::freeze(const storage::Table& table, uint32_t partition, uint32_t chunk) {
  const uint32_t id = table.schema().id.value();
  std::shared_ptr<const storage::ArchiveBase> base;
  {
    MutexLock lock(&mutex_);
    base = base_;
    const auto marks = changed_.find({id, partition});
    const bool is_known = marks != changed_.end() && chunk < marks->second.size();
    if (is_known && (marks->second[chunk] & storage::kRowsWritten) != 0) base.reset();
  }
  if (base == nullptr) return sql_error("55000", "no archive has the rows of the chunk as they are");
  for (const storage::ArchiveTable& entry : base->manifest.tables) {
    if (entry.id != id) continue;
    const auto found = std::find_if(entry.chunks.begin(), entry.chunks.end(), [&](const storage::ArchiveChunk& one) {
      return one.partition == partition && one.chunk == chunk;
    });
    if (found != entry.chunks.end()) {
      return storage::freeze_archive_chunk(disk_, base->path, entry, *found, table);
    }
  }
  return sql_error("55000", "the archive does not have the chunk");
}

}  // namespace scyper::replay
