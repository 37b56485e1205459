// Vectors in memory of which files have copies: a restart leaves them there, and they come back while the node serves
// (docs/tiering.md, Restarts).
#include <algorithm>
#include <utility>
#include <vector>

#include "evictor.h"
#include "slots.h"

namespace scyper::storage {
namespace {

// Of one step, so that what is read or written beside transactions is bounded.
constexpr uint64_t kReturnBytesMax = uint64_t{32} << 20;
constexpr uint64_t kCopyBytesMax = uint64_t{64} << 20;
// A file is worth so much: what an owner has in memory, in parts.
constexpr uint64_t kCopyShare = 16;

bool has_copy(const EvictionCandidate& candidate) {
  const FrozenSlot& slot = candidate.partition->frozen[candidate.chunk];
  return slot.copies != nullptr && slot.copies->places[candidate.column].file != nullptr;
}

}  // namespace

// Chunk after chunk, each once: what has no room then stays where it is, until it is used.
bool Evictor::claim_return(std::span<TablePartition* const> partitions) {
  std::vector<EvictionCandidate> returning;
  uint64_t bytes = 0;
  for (TablePartition* partition : partitions) {
    if (partition->table->frozen_store() == nullptr || partition->frozen == nullptr || is_in_work(partition)) continue;
    const size_t first = returning.size();
    find_returning(partition, kReturnBytesMax - std::min(kReturnBytesMax, bytes), &returning);
    for (size_t i = first; i < returning.size(); ++i) bytes += returning[i].bytes;
  }
  if (returning.empty()) return false;
  Job job;
  job.kind = JobKind::kPromotion;
  take_what_fits(returning, kReturnBytesMax, &job);
  if (job.pieces.empty()) return false;
  start(std::move(job));
  return true;
}

void Evictor::find_returning(TablePartition* partition, uint64_t bytes_max, std::vector<EvictionCandidate>* returning) {
  MutexLock lock(&mutex_);
  uint64_t& chunk = returned_[partition];
  for (uint64_t bytes = 0; chunk < partition->chunk_count && bytes < bytes_max; ++chunk) {
    const FrozenSlot& slot = partition->frozen[chunk];
    if (slot.state != ChunkState::kFrozen || slot.tiered == nullptr) continue;
    for (uint32_t column = 0; column < slot.tiered->places.size(); ++column) {
      const TierPlace& place = slot.tiered->places[column];
      if (place.file == nullptr || !place.returns) continue;
      const uint32_t of_data = place.bytes - head_bytes(FrozenChunk(slot.image, nullptr).header_of(column));
      returning->push_back(candidate_of(partition, chunk, column, of_data, tier_->now()));
      bytes += of_data;
    }
  }
}

// Once a window and owner, of its share at least: so files are few.
bool Evictor::claim_copies(std::span<TablePartition* const> partitions) {
  if (partitions.empty() || !tier_->keeps_copies() || !tier_->may_evict()) return false;
  {
    MutexLock lock(&mutex_);
    if (std::exchange(copied_at_[partitions[0]], tier_->now()) == tier_->now()) return false;
  }
  uint64_t resident = 0, bytes = 0;
  std::vector<EvictionCandidate> candidates = find_candidates(partitions, &resident);
  std::erase_if(candidates, has_copy);
  for (const EvictionCandidate& candidate : candidates) bytes += candidate.bytes;
  if (candidates.empty() || bytes < resident / kCopyShare) return false;
  Job job;
  job.kind = JobKind::kCopy;
  for (const EvictionCandidate& candidate : candidates) {
    if (job.bytes >= kCopyBytesMax) break;
    add_piece(&job, candidate);
  }
  tier_->note_copied(job.bytes);
  start(std::move(job));
  return true;
}

}  // namespace scyper::storage
