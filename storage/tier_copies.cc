// Vectors in memory of which files have copies: a restart leaves them there, and they come back while the node serves
// (docs/tiering.md, Restarts).
#include <algorithm>
#include <map>
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
constexpr uint32_t kFailedWindows = 8;  // after which it is tried again

bool has_copy(const EvictionCandidate& candidate) {
  const FrozenSlot& slot = candidate.partition->frozen[candidate.chunk];
  return slot.copies != nullptr && slot.copies->places[candidate.column].file != nullptr;
}

uint32_t cache_of(const EvictionCandidate& candidate) {
  return candidate.partition->table->frozen_store()->tier_cache.load(std::memory_order_relaxed);
}

}  // namespace

// Chunk after chunk, each once: what has no room then stays where it is, until it is used.
bool Evictor::claim_return(std::span<TablePartition* const> partitions) {
  {
    MutexLock lock(&mutex_);
    if (promoting_bytes_ >= kReturnBytesMax) return false;
  }
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
  MutexLock claiming(&claiming_);
  take_what_fits(returning, UINT64_MAX, 0, &job);
  if (job.pieces.empty()) return false;
  start(std::move(job));
  return true;
}

void Evictor::find_returning(TablePartition* partition, uint64_t bytes_max, std::vector<EvictionCandidate>* returning) {
  MutexLock lock(&mutex_);
  uint64_t& chunk = known(partition).returned;
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

// Once a window and owner, of its share at least, and of one cache: so files are few.
bool Evictor::claim_copies(std::span<TablePartition* const> partitions) {
  if (partitions.empty() || !tier_->keeps_copies()) return false;
  const uint32_t failed_at = copies_failed_at_.load();
  if (failed_at != 0 && tier_->now() - failed_at < kFailedWindows) return false;
  if (!begin_window(partitions[0], &Known::copied_at)) return false;
  uint64_t resident = 0;
  std::vector<EvictionCandidate> candidates = find_candidates(partitions, &resident);
  std::erase_if(candidates, has_copy);
  std::map<uint32_t, uint64_t> bytes;  // by cache
  for (const EvictionCandidate& candidate : candidates) bytes[cache_of(candidate)] += candidate.bytes;
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == bytes.end() || most->second < resident / kCopyShare) return false;
  Job job;
  job.kind = JobKind::kCopy;
  for (const EvictionCandidate& candidate : candidates) {
    if (job.bytes >= kCopyBytesMax) break;
    if (cache_of(candidate) != most->first) continue;
    add_piece(&job, candidate);
  }
  start(std::move(job));
  return true;
}

}  // namespace scyper::storage
