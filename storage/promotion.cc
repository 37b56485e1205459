// Vectors whose data is in the tier and that are used again come back to memory (docs/tiering.md).
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "base/failpoint.h"
#include "evictor.h"
#include "slots.h"

namespace scyper::storage {
namespace {

Failpoint before_promotion_read("tier.before_promotion_read");

// In a window at most so much comes back: of the budget, and in bytes (0.1 s of a disk).
constexpr uint64_t kWindowShare = 16;
constexpr uint64_t kWindowBytesMax = uint64_t{64} << 20;
// The uses of a vector that comes back cost so much more than reading it once. And so much more per byte than those of
// the vectors that go in its place.
constexpr uint32_t kPromotionGain = 4;
constexpr uint32_t kReplacementGain = 2;
// What has come back is not replaced for so many windows.
constexpr uint32_t kStayWindows = 8;
// Chunks that come back to be emptied at once: the thread is always busy with one.
constexpr size_t kReturnsMax = 4;
// One that has lost so many rows in so many windows comes back, too: it will lose more.
constexpr uint32_t kLostRows = kChunkTuples / 64;
constexpr uint32_t kLosingWindows = 2;
// Frozen memory is left to those who freeze and evict: one part in so many.
constexpr uint64_t kFrozenShareLeft = 8;

// Whoever would go first last.
void sort_by_rank(std::vector<EvictionCandidate>* candidates, uint32_t now) {
  std::sort(candidates->begin(), candidates->end(), [now](const EvictionCandidate& a, const EvictionCandidate& b) {
    return std::tuple(eviction_rank(a, now), a.partition, a.chunk, a.column) <
           std::tuple(eviction_rank(b, now), b.partition, b.chunk, b.column);
  });
}

bool has_just_come(const EvictionCandidate& candidate, uint32_t now) {
  const FrozenSlot& slot = candidate.partition->frozen[candidate.chunk];
  return slot.copies != nullptr && now - slot.copies->made < kStayWindows;
}

// The image is the one that the head belongs to.
bool fits_head(const FrozenHeader& head, const TierPlace& place, const std::string& image) {
  FrozenHeader header;
  std::memcpy(&header, image.data(), sizeof(header));
  if (header.values_at != place.values_at) return false;
  header.values_at = head.values_at;
  if (std::memcmp(&header, &head, sizeof(header)) != 0) return false;
  if (head.has_shared_text == 0) return true;
  const uint64_t bytes = uint64_t{head.values} * sizeof(uint32_t);
  return place.values_at + bytes <= image.size() &&
         std::memcmp(image.data() + place.values_at, reinterpret_cast<const char*>(&head) + head.values_at, bytes) == 0;
}

}  // namespace

// Of what may come back in it. With claiming_.
uint64_t Evictor::bytes_left_in_window() {
  const uint32_t now = tier_->now();
  const uint64_t bytes_max = std::min<uint64_t>(tier_->memory_budget_bytes() / kWindowShare, kWindowBytesMax);
  MutexLock lock(&mutex_);
  if (std::exchange(promotion_window_, now) != now) bytes_in_window_ = 0;
  return bytes_max - std::min(bytes_max, bytes_in_window_);
}

bool Evictor::claim_promotion(std::span<TablePartition* const> partitions) {
  {
    MutexLock lock(&mutex_);
    for (const TablePartition* partition : partitions) {
      if (in_work_.contains(partition)) return false;  // later in the window
    }
  }
  if (!begin_window(partitions[0], &Known::promoted_at)) return false;
  std::vector<EvictionCandidate> used = find_used(partitions);
  if (used.empty()) return false;
  sort_by_rank(&used, tier_->now());
  MutexLock claiming(&claiming_);
  const uint64_t bytes_left = bytes_left_in_window();
  if (bytes_left == 0) return false;
  Job job;
  job.kind = JobKind::kPromotion;
  const uint64_t room = take_what_fits(used, bytes_left, 0, &job);
  std::vector<EvictionCandidate> replaced;
  uint64_t bytes = job.bytes;
  if (job.pieces.empty()) replaced = find_replaced(partitions, used, room, bytes_left);
  for (const EvictionCandidate& candidate : replaced) bytes += candidate.bytes;
  if (bytes == 0) {
    const std::span<const EvictionCandidate> worth_more = find_worth_more(used, bytes_left);
    for (const EvictionCandidate& candidate : worth_more) bytes += candidate.bytes;
    if (bytes > 0) take_what_fits(worth_more, bytes, bytes, &job);
    bytes = job.bytes;
  }
  if (bytes == 0) return false;
  {
    MutexLock lock(&mutex_);
    bytes_in_window_ += bytes;
  }
  // what has no room comes in the next window, if it is still used then
  replaced.empty() ? start(std::move(job)) : start_eviction(replaced);
  return true;
}

std::vector<EvictionCandidate> Evictor::find_used(std::span<TablePartition* const> partitions) const {
  const uint32_t now = tier_->now();
  std::vector<EvictionCandidate> used;
  for (const TablePartition* partition : partitions) {
    if (partition->table->frozen_store() == nullptr || partition->frozen == nullptr || is_in_work(partition)) continue;
    for (uint64_t chunk = 0; chunk < partition->chunk_count; ++chunk) {
      const FrozenSlot& slot = partition->frozen[chunk];
      if (slot.state != ChunkState::kFrozen || slot.tiered == nullptr || slot.marks == nullptr) continue;
      if (is_to_be_emptied(partition, chunk)) continue;
      for (uint32_t column = 0; column < slot.tiered->places.size(); ++column) {
        const TierPlace& place = slot.tiered->places[column];
        if (place.file == nullptr) continue;
        const uint32_t cost = slot.marks[column].cost_at(now);
        if (cost < kPromotionGain * read_cost(place.bytes)) continue;
        const FrozenHeader& head = FrozenChunk(slot.image, nullptr).header_of(column);
        used.push_back(candidate_of(partition, chunk, column, place.bytes - head_bytes(head), now));
      }
    }
  }
  return used;
}

// In memory that the budget has left, or will have when `freed` bytes have gone, and frozen memory. What the budget has
// left then.
uint64_t Evictor::take_what_fits(std::span<const EvictionCandidate> used, uint64_t bytes_max, uint64_t freed,
                                 Job* job) const {
  const FrozenMemory* memory = used[0].partition->table->frozen_store()->memory;
  const uint64_t granted = memory->budget_bytes() - memory->budget_bytes() / kFrozenShareLeft;
  const uint64_t frozen = memory->usage().used_bytes;
  uint64_t resident = tier_->resident_bytes();
  {
    MutexLock lock(&mutex_);
    resident += promoting_bytes_;
  }
  const uint64_t budget = tier_->memory_budget_bytes();
  const uint64_t room = budget - std::min(budget, resident) + freed;
  uint64_t images = 0;  // the new ones
  for (const EvictionCandidate& candidate : used) {
    if (job->bytes + candidate.bytes > room) continue;
    if (job->count > 0 && job->bytes + candidate.bytes > bytes_max) break;
    const FrozenSlot& slot = candidate.partition->frozen[candidate.chunk];
    images += candidate.bytes + FrozenChunk(slot.image, nullptr).header().bytes;  // at most
    if (frozen + images > granted) break;
    add_piece(job, candidate);
    ++job->count;
  }
  return room - job->bytes;
}

// Vectors in memory that are to go so that some of those that are used have room. As many as pay, to half of the
// window's bytes: so evictions are few.
std::vector<EvictionCandidate> Evictor::find_replaced(std::span<TablePartition* const> partitions,
                                                      std::span<const EvictionCandidate> used, uint64_t room,
                                                      uint64_t bytes_max) {
  std::vector<EvictionCandidate> replaced;
  if (used.empty() || bytes_max == 0 || !tier_->may_evict() || !tier_->keeps_copies()) return replaced;
  std::vector<EvictionCandidate> candidates = find_candidates(partitions);
  const uint32_t now = tier_->now();  // no mark is newer
  std::erase_if(candidates, [now](const EvictionCandidate& one) { return has_just_come(one, now); });
  sort_by_rank(&candidates, now);
  const auto is_better = [&](EvictionCandidate one) {
    one.cost /= kReplacementGain;
    return !candidates.empty() && eviction_rank(one, now) < eviction_rank(candidates.back(), now);
  };
  uint64_t wanted = 0, freed = room;
  size_t count = 0;  // that give some of them the whole room
  for (const EvictionCandidate& next : used) {
    if (wanted > 0 && wanted + next.bytes > bytes_max) break;
    wanted += next.bytes;
    while (freed < std::max(wanted, bytes_max / 2) && is_better(next)) {
      freed += candidates.back().bytes;
      replaced.push_back(candidates.back());
      candidates.pop_back();
    }
    if (freed < wanted) break;
    count = replaced.size();
  }
  replaced.resize(count);
  return replaced;
}

// Than as much of all owners, others' mostly, which will go in their place, as the memory is too much then.
std::span<const EvictionCandidate> Evictor::find_worth_more(std::span<const EvictionCandidate> used,
                                                            uint64_t bytes_max) const {
  if (!tier_->may_evict()) return {};
  const std::vector<uint64_t> ranks = ranks_of_all();
  const uint32_t now = tier_->now();
  uint64_t wanted = 0;
  size_t count = 0;
  for (EvictionCandidate one : used) {
    if (count > 0 && wanted + one.bytes > bytes_max) break;
    wanted += one.bytes;
    one.cost /= kReplacementGain;
    const auto first = ranks.begin() + static_cast<ptrdiff_t>(rank_class(eviction_rank(one, now)) + 1);
    if (std::accumulate(first, ranks.end(), uint64_t{0}) < wanted) break;
    ++count;
  }
  return used.first(count);
}

// Rows that change leave it now, and each that does so reads all of its columns. (The lines of orders that are
// delivered one after the other.)
bool Evictor::is_losing_rows(const TablePartition* partition, uint64_t chunk) {
  const FrozenSlot& slot = partition->frozen[chunk];
  const uint32_t lost = slot.invalid.positions();
  if (slot.marks == nullptr || lost < kLostRows) return false;
  const uint32_t now = tier_->now();
  for (uint32_t column = 0; column < slot.tiered->places.size(); ++column) {
    const bool is_in_file = slot.tiered->places[column].file != nullptr;
    if (is_in_file && slot.marks[column].cost_at(now) < kLostRows) return false;
  }
  MutexLock lock(&mutex_);
  if (now - losing_since_ >= kLosingWindows) {
    losing_.clear();
    losing_since_ = now;
  }
  return lost >= losing_.try_emplace({partition, chunk}, lost).first->second + kLostRows;
}

bool Evictor::bring_back(TablePartition* partition, uint64_t chunk) {
  const FrozenSlot& slot = partition->frozen[chunk];
  if (slot.state != ChunkState::kFrozen || slot.tiered == nullptr) return false;
  if (slot.invalid.positions() == kChunkTuples) return false;
  if (!is_to_be_emptied(partition, chunk) && !is_losing_rows(partition, chunk)) return false;
  {
    MutexLock lock(&mutex_);
    forget_returns_of_closed();
    const auto known = returns_.find({partition, chunk});
    if (known != returns_.end() && known->second.is_on_way) return true;
    if (known != returns_.end() && known->second.failed_at == tier_->now()) return false;
    const auto on_way =
        std::count_if(returns_.begin(), returns_.end(), [](const auto& one) { return one.second.is_on_way; });
    if (static_cast<size_t>(on_way) >= kReturnsMax) return true;
  }
  Job job;
  job.kind = JobKind::kReturn;
  for (uint32_t column = 0; column < slot.tiered->places.size(); ++column) {
    const TierPlace& place = slot.tiered->places[column];
    if (place.file != nullptr) add_piece(&job, candidate_of(partition, chunk, column, place.bytes, tier_->now()));
  }
  tier_->claim(job.bytes);
  {
    MutexLock lock(&mutex_);
    returns_[{partition, chunk}] = {partition->table->frozen_store()->gate, job.bytes, true, 0};
  }
  start(std::move(job));
  return true;
}

void Evictor::note_returned(const Piece& piece) {
  MutexLock lock(&mutex_);
  const auto known = returns_.find({piece.partition, piece.chunk});
  if (known == returns_.end() || known->second.gate != piece.gate) return;
  Return& one = known->second;
  one.is_on_way = false;
  if (piece.gate->is_closed()) return forget_returns_of_closed();
  if (piece.partition->frozen[piece.chunk].tiered == nullptr) {
    if (is_to_be_emptied(piece.partition, piece.chunk)) return;
    tier_->unclaim(one.bytes);  // it may go again
    returns_.erase(known);
    return;
  }
  one.failed_at = tier_->now();
  tier_->unclaim(std::exchange(one.bytes, 0));
}

void Evictor::end_return(const TablePartition* partition, uint64_t chunk) {
  MutexLock lock(&mutex_);
  const auto known = returns_.find({partition, chunk});
  if (known == returns_.end()) return;
  tier_->unclaim(known->second.bytes);
  returns_.erase(known);
}

void Evictor::forget_returns_of_closed() {
  std::erase_if(returns_, [this](const auto& one) {
    if (!one.second.gate->is_closed()) return false;
    tier_->unclaim(one.second.bytes);
    return true;
  });
}

// Pages that will be read one after the other.
void Evictor::ask(const Piece& piece) {
  std::vector<PageReader::Range> ranges;
  for (uint32_t column = 0; column < piece.columns.size() && ranges.size() < PageReader::kRangesMax; ++column) {
    if (!piece.columns[column]) continue;
    const TierPlace& place = piece.before->places[column];
    const uint64_t first = place.offset / FrozenTier::kPageBytes;
    const uint64_t last = (place.offset + place.bytes - 1) / FrozenTier::kPageBytes;
    ranges.push_back({place.file.get(), first, last + 1 - first});
  }
  tier_->ask(ranges);
}

void Evictor::bring(Job* job) {
  for (Piece& piece : job->pieces) {
    ask(piece);
    bring(&piece, job->memory, job->kind == JobKind::kReturn);
  }
}

// Columns that cannot be read stay where they are; is_whole: all of them then.
void Evictor::bring(Piece* piece, FrozenMemory* memory, bool is_whole) {
  const FrozenChunk chunk(piece->image, nullptr);
  auto places = std::make_shared<TieredColumns>(*piece->before);
  auto copies =
      piece->copies == nullptr ? std::make_shared<TieredColumns>() : std::make_shared<TieredColumns>(*piece->copies);
  places->id = tier_->new_id();
  copies->places.resize(piece->columns.size());
  copies->made = tier_->now();
  std::vector<std::string> data(piece->columns.size());
  for (uint32_t column = 0; column < piece->columns.size(); ++column) {
    if (!piece->columns[column]) continue;
    const TierPlace& place = piece->before->places[column];
    data[column].resize(place.bytes);
    Status status = tier_->read(*place.file, place.offset, place.bytes, data[column].data());
    if (before_promotion_read.fires()) status = sql_error("XX001", "failpoint tier.before_promotion_read");
    if (!status.ok() || !fits_head(chunk.header_of(column), place, data[column])) {
      data[column].clear();
      piece->columns[column] = false;
      tier_->note_failed_promotions(1);
      if (is_whole) return;
      continue;
    }
    copies->places[column] = std::exchange(places->places[column], TierPlace());
  }
  const auto brought = std::count(piece->columns.begin(), piece->columns.end(), true);
  if (brought == 0) return;
  const std::string image = with_data(chunk, data);
  piece->next = publish_image(image, memory);
  piece->next_bytes = static_cast<uint32_t>(image.size());
  if (piece->next == nullptr) tier_->note_failed_promotions(static_cast<uint64_t>(brought));
  const bool has_all = std::all_of(places->places.begin(), places->places.end(),
                                   [](const TierPlace& place) { return place.file == nullptr; });
  piece->places = has_all ? nullptr : std::move(places);
  if (!tier_->keeps_copies()) std::fill(copies->places.begin(), copies->places.end(), TierPlace());
  piece->copies = std::move(copies);
}

}  // namespace scyper::storage
