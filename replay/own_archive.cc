#include "replay/own_archive.h"

#include <algorithm>
#include <utility>

namespace scyper::replay {

OwnArchive::OwnArchive(Disk* disk, storage::FrozenTier* tier) : disk_(disk), tier_(tier) {
  if (tier_ == nullptr) return;
  tier_->set_chunk_source([this](const storage::Table& table, uint32_t partition, uint32_t chunk) {
    return freeze(table, partition, chunk);
  });
}

OwnArchive::~OwnArchive() {
  if (tier_ != nullptr) tier_->set_chunk_source({});
}

void OwnArchive::set(std::shared_ptr<const storage::ArchiveBase> archive) {
  MutexLock lock(&mutex_);
  newest_ = std::move(archive);
  is_whole_next_ = false;
  changed_.clear();
}

void OwnArchive::write_whole() {
  MutexLock lock(&mutex_);
  is_whole_next_ = true;
}

std::shared_ptr<const storage::ArchiveBase> OwnArchive::base() const {
  MutexLock lock(&mutex_);
  return is_whole_next_ ? nullptr : newest_;
}

std::shared_ptr<storage::ArchiveBase> OwnArchive::take_base(const query::Catalog& catalog) {
  MutexLock lock(&mutex_);
  for (const auto& [name, table] : catalog.tables) storage::take_changed_chunks(*table, &changed_);
  if (is_whole_next_ || newest_ == nullptr) return nullptr;
  auto base = std::make_shared<storage::ArchiveBase>(*newest_);
  base->changed = changed_;
  return base;
}

void OwnArchive::begin(const query::Catalog& catalog, uint64_t lsn, ArchiveOptions* options) {
  options->base = take_base(catalog);
  options->has_places = tier_ != nullptr;
  if (tier_ != nullptr) tier_->keep_all(lsn);
}

Status OwnArchive::finish(const std::string& path) {
  auto base = std::make_shared<storage::ArchiveBase>();
  base->path = path;
  SCYPER_ASSIGN_OR_RETURN(base->manifest, storage::read_manifest(disk_, path));
  base->manifest.attachments.clear();
  set(std::move(base));
  return Status();
}

StatusOr<std::string> OwnArchive::freeze(const storage::Table& table, uint32_t partition, uint32_t chunk) {
  const uint32_t id = table.schema().id.value();
  std::shared_ptr<const storage::ArchiveBase> base;
  {
    MutexLock lock(&mutex_);
    base = newest_;
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
