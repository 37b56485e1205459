#include "evictor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "row_plan.h"
#include "slots.h"
#include "storage/hot_views.h"
#include "storage/tier_file.h"

namespace scyper::storage {
namespace {

Failpoint before_tier_write("tier.before_write");

// One eviction takes at most so much, and leaves so much room below the budget, so that files do not get too many.
constexpr uint64_t kEvictionBytesMax = uint64_t{256} << 20;
constexpr uint64_t kRoomShare = 16;
// Ranks of an owner are old after so many windows.
constexpr uint32_t kRanksStay = 8;

}  // namespace

uint64_t eviction_rank(const EvictionCandidate& candidate, uint32_t now) {
  constexpr uint64_t kClass = uint64_t{1} << 62;
  constexpr uint64_t kUnused = kClass >> 1;
  constexpr uint32_t kCostBits = 28;  // bytes have 32
  constexpr uint32_t kSmallBytes = FrozenTier::kPageBytes / 8;
  const uint64_t of_class = candidate.bytes < kSmallBytes ? 0 : candidate.is_relevant ? 1 : 2;
  if (candidate.cost > 0) return of_class * kClass + (uint64_t{candidate.bytes} << kCostBits) / candidate.cost;
  const uint64_t bytes = std::min<uint64_t>(candidate.bytes, FrozenTier::kPageBytes);
  return of_class * kClass + kUnused + bytes * (uint64_t{now - candidate.last_use} + 1);
}

size_t rank_class(uint64_t rank) {
  constexpr uint64_t kClass = uint64_t{1} << 62;
  constexpr uint64_t kUnused = kClass >> 1;
  constexpr size_t kOfUnused = 62;
  const uint64_t of_class = rank % kClass;
  const auto number = static_cast<size_t>(of_class < kUnused ? std::bit_width(of_class)
                                                             : kOfUnused + std::bit_width(of_class - kUnused));
  return rank / kClass * kRankClasses / 4 + number;
}

size_t aged_class(size_t rank_class, uint32_t windows) {
  constexpr size_t kClasses = kRankClasses / 4, kLastUsed = 61;
  const size_t number = rank_class % kClasses;
  if (number == 0 || number > kLastUsed) return rank_class;
  return rank_class - number + std::min(number + windows, kLastUsed);
}

EvictionCandidate candidate_of(const TablePartition* partition, uint64_t chunk, uint32_t column, uint32_t bytes,
                               uint32_t now) {
  const FrozenSlot& slot = partition->frozen[chunk];
  EvictionCandidate candidate{partition, chunk, column, bytes, 0, is_relevant(slot, column)};
  if (slot.marks == nullptr) return candidate;
  candidate.last_use = slot.marks[column].window.load(std::memory_order_relaxed);
  candidate.cost = slot.marks[column].cost_at(now);
  return candidate;
}

Evictor::~Evictor() {
  MutexLock lock(&mutex_);
  for (Job& job : waiting_) drop(&job);
  for (Job& job : done_) drop(&job);
  for (const auto& [chunk, one] : returns_) tier_->unclaim(one.bytes);
  for (const std::deque<Repair>* repairs : {&damaged_, &repaired_}) {
    for (const Repair& repair : *repairs) {
      if (repair.next != nullptr) repair.memory->retire(repair.next, repair.next_bytes);
      repair.memory->unpin(repair.pin);
    }
  }
}

bool Evictor::has_waiting() const {
  MutexLock lock(&mutex_);
  return !waiting_.empty() || !damaged_.empty();
}

// resident: the images in memory of these partitions are added up there; may be null.
std::vector<EvictionCandidate> Evictor::find_candidates(std::span<TablePartition* const> partitions,
                                                        uint64_t* resident) {
  std::vector<EvictionCandidate> candidates;
  for (const TablePartition* partition : partitions) {
    const FrozenStore* store = partition->table->frozen_store();
    if (store == nullptr || partition->frozen == nullptr || is_in_work(partition)) continue;
    for (uint64_t chunk = 0; chunk < partition->chunk_count; ++chunk) {
      const FrozenSlot& slot = partition->frozen[chunk];
      if (slot.state != ChunkState::kFrozen) continue;
      const FrozenChunk image(slot.image, &store->dictionaries);
      if (resident != nullptr) *resident += image.header().bytes;
      if (is_to_be_emptied(partition, chunk)) continue;
      for (uint32_t column = 0; column < image.header().columns; ++column) {
        const FrozenHeader& head = image.head(column).header();
        if (!image.has_data(column) || head.bytes <= head_bytes(head)) continue;
        candidates.push_back(candidate_of(partition, chunk, column, head.bytes - head_bytes(head), tier_->now()));
      }
    }
  }
  return candidates;
}

bool Evictor::is_in_work(const TablePartition* partition) const {
  MutexLock lock(&mutex_);
  return in_work_.contains(partition);
}

void Evictor::add_piece(Job* job, const EvictionCandidate& candidate) {
  auto* partition = const_cast<TablePartition*>(candidate.partition);
  const FrozenSlot& slot = partition->frozen[candidate.chunk];
  // mostly the last one
  auto found = std::find_if(job->pieces.rbegin(), job->pieces.rend(), [&](const Piece& piece) {
    return piece.partition == partition && piece.chunk == candidate.chunk;
  });
  if (found == job->pieces.rend()) {
    const FrozenStore* store = partition->table->frozen_store();
    job->pieces.push_back({store->gate, partition, candidate.chunk, slot.image, slot.tiered,
                           std::vector<bool>(partition->plan->columns.size()),
                           store->tier_cache.load(std::memory_order_relaxed), 0, nullptr, slot.copies});
    found = job->pieces.rbegin();
  }
  found->columns[candidate.column] = true;
  job->bytes += candidate.bytes;
}

bool Evictor::claim(std::span<TablePartition* const> partitions) {
  if (partitions.empty()) return false;
  if (claim_damaged(partitions)) return true;
  if (!tier_->has_room_for_files() && drop_copies(partitions)) return true;
  const uint64_t excess = tier_->excess_bytes();
  const bool is_first = begin_window(partitions[0], &Known::ranked_at);
  if (excess == 0 && !is_first) return claim_without_excess(partitions);
  if (!is_first && has_looked_in_vain(partitions[0])) return claim_promotion(partitions);
  std::vector<EvictionCandidate> candidates = find_candidates(partitions);
  const uint32_t now = tier_->now();
  std::vector<uint64_t> own(kRankClasses);
  for (const EvictionCandidate& one : candidates) own[rank_class(eviction_rank(one, now))] += one.bytes;
  note_ranks(partitions[0], own);
  if (excess == 0) return claim_without_excess(partitions);
  if (candidates.empty()) return false;
  const uint64_t wanted =
      std::min(kEvictionBytesMax, share_of(own, excess + tier_->memory_budget_bytes() / kRoomShare));
  if (wanted == 0) {  // others' go first
    note_in_vain(partitions[0]);
    return claim_promotion(partitions);
  }
  std::sort(candidates.begin(), candidates.end(), [&](const EvictionCandidate& a, const EvictionCandidate& b) {
    return std::tuple(eviction_rank(b, now), a.partition, a.chunk, a.column) <
           std::tuple(eviction_rank(a, now), b.partition, b.chunk, b.column);
  });
  size_t count = 0;
  for (uint64_t bytes = 0; count < candidates.size() && bytes < wanted; ++count) bytes += candidates[count].bytes;
  start_eviction(std::span(candidates).first(count));
  return true;
}

void Evictor::note_in_vain(const TablePartition* first) {
  MutexLock lock(&mutex_);
  known(first).resident_in_vain = tier_->resident_bytes();
}

// Others have not evicted anything since.
bool Evictor::has_looked_in_vain(const TablePartition* first) {
  MutexLock lock(&mutex_);
  return known(first).resident_in_vain == tier_->resident_bytes();
}

bool Evictor::claim_without_excess(std::span<TablePartition* const> partitions) {
  return claim_return(partitions) || claim_promotion(partitions) || claim_copies(partitions);
}

void Evictor::note_ranks(const TablePartition* first, const std::vector<uint64_t>& bytes) {
  MutexLock lock(&mutex_);
  Known& look = known(first);
  look.ranked_bytes = bytes;
  look.ranked_at = tier_->now();
}

// As the owners saw theirs last, what is used as if it had not been since.
std::vector<uint64_t> Evictor::ranks_of_all() const {
  const uint32_t now = tier_->now();
  std::vector<uint64_t> sum(kRankClasses);
  MutexLock lock(&mutex_);
  for (const auto& [partition, look] : known_) {
    const bool is_old = look.ranked_bytes.empty() || now - look.ranked_at > kRanksStay;
    if (is_old || (look.gate != nullptr && look.gate->is_closed())) continue;
    for (size_t i = 0; i < kRankClasses; ++i) sum[aged_class(i, now - look.ranked_at)] += look.ranked_bytes[i];
  }
  return sum;
}

// What of `wanted` bytes of all owners an owner's are: of each rank, from the highest one on, as much as it has of it.
// As much of what no owner has told of as it has of the rest.
uint64_t Evictor::share_of(const std::vector<uint64_t>& own, uint64_t wanted) const {
  const std::vector<uint64_t> all = ranks_of_all();
  const auto known = static_cast<double>(std::accumulate(all.begin(), all.end(), uint64_t{0}));
  double left = static_cast<double>(wanted) * known / std::max(known, static_cast<double>(tier_->resident_bytes()));
  double share = 0;
  for (size_t i = kRankClasses; i-- > 0 && left > 0;) {
    if (all[i] == 0) continue;
    const double part = std::min(left, static_cast<double>(all[i]));
    share += part * static_cast<double>(own[i]) / static_cast<double>(all[i]);
    left -= part;
  }
  return static_cast<uint64_t>(std::ceil(share));
}

// Files that only copies need go then.
bool Evictor::drop_copies(std::span<TablePartition* const> partitions) {
  bool has_dropped = false;
  for (TablePartition* partition : partitions) {
    if (partition->table->frozen_store() == nullptr || partition->frozen == nullptr || is_in_work(partition)) continue;
    for (uint64_t chunk = 0; chunk < partition->chunk_count; ++chunk) {
      FrozenSlot& slot = partition->frozen[chunk];
      if (slot.copies == nullptr) continue;
      slot.copies.reset();
      has_dropped = true;
    }
  }
  return has_dropped;
}

Evictor::Known& Evictor::known(const TablePartition* partition) {
  Known& one = known_[partition];
  if (const FrozenStore* store = partition->table->frozen_store(); store != nullptr) one.gate = store->gate;
  return one;
}

// Once per window and owner; false: not now.
bool Evictor::begin_window(const TablePartition* first, uint32_t Known::* at) {
  const uint32_t now = tier_->now();
  MutexLock lock(&mutex_);
  if (std::exchange(known(first).*at, now) == now) return false;
  std::erase_if(known_, [](const auto& one) { return one.second.gate != nullptr && one.second.gate->is_closed(); });
  forget_returns_of_closed();
  return true;
}

void Evictor::start_eviction(std::span<const EvictionCandidate> candidates) {
  Job job;
  for (const EvictionCandidate& candidate : candidates) add_piece(&job, candidate);
  tier_->claim(job.bytes);
  start(std::move(job));
}

void Evictor::start(Job job) {
  job.memory = job.pieces[0].partition->table->frozen_store()->memory;
  job.pin = job.memory->pin();
  MutexLock lock(&mutex_);
  if (job.kind == JobKind::kReturn) return waiting_.push_front(std::move(job));
  for (const Piece& piece : job.pieces) in_work_.insert(piece.partition);
  if (job.kind == JobKind::kPromotion) promoting_bytes_ += job.bytes;
  waiting_.push_back(std::move(job));
}

bool Evictor::write_one() {
  tier_->remove_unused();
  if (repair_one()) return true;
  std::vector<Job> jobs;
  {
    MutexLock lock(&mutex_);
    if (waiting_.empty()) return false;
    const bool returns = waiting_.front().kind == JobKind::kReturn;  // rows are read one by one until it is there
    for (Job& job : waiting_) {
      if (!returns && job.kind == JobKind::kEviction) jobs.push_back(std::move(job));
    }
    if (jobs.empty()) {
      jobs.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    } else {
      std::erase_if(waiting_, [](const Job& job) { return job.kind == JobKind::kEviction; });
    }
  }
  const JobKind kind = jobs.front().kind;
  if (!comes_to_memory(kind) && !write_files(jobs)) {
    kind == JobKind::kCopy ? copies_failed_at_.store(tier_->now()) : tier_->note_failure();
  }
  for (Job& job : jobs) {
    if (comes_to_memory(kind)) bring(&job);
    if (kind == JobKind::kEviction) make_images(&job);
    MutexLock lock(&mutex_);
    done_.push_back(std::move(job));
  }
  return true;
}

namespace {

bool is_damaged(const TierPlace& place, std::span<const FrozenTier::DamagedPage> pages) {
  if (place.file == nullptr) return false;
  const uint64_t first = place.offset / FrozenTier::kPageBytes;
  const uint64_t last = (place.offset + place.bytes - 1) / FrozenTier::kPageBytes;
  return std::any_of(pages.begin(), pages.end(), [&](const FrozenTier::DamagedPage& page) {
    return page.stamp == place.file->stamp() && page.first <= last && first <= page.last;
  });
}

}  // namespace

// Where the vector is in a file of its table's cache as well, whole as far as is known. Another one is forgotten.
bool Evictor::use_copy(Piece* piece, uint32_t column, std::span<const FrozenTier::DamagedPage> damage) {
  if (piece->left == nullptr || piece->left->places[column].file == nullptr) return false;
  TierPlace place = std::exchange(piece->left->places[column], TierPlace());
  if (place.file->cache() != piece->cache || is_damaged(place, damage)) return false;
  place.returns = false;
  piece->unwritten_bytes += place.bytes;
  piece->places->places[column] = std::move(place);
  return true;
}

// Where the columns will be that go, or where those are that have copies.
void Evictor::begin_places(Piece* piece, JobKind kind) const {
  const auto& before = kind == JobKind::kCopy ? piece->copies : piece->before;
  piece->places = std::make_shared<TieredColumns>();
  if (before != nullptr) *piece->places = *before;
  if (kind == JobKind::kEviction) piece->places->id = tier_->new_id();
  piece->places->places.resize(piece->columns.size());
  if (kind != JobKind::kEviction || piece->copies == nullptr) return;
  piece->left = std::make_shared<TieredColumns>(*piece->copies);
  piece->copies = piece->left;
}

// Column by column, so that a scan of few columns reads on where it is. What cannot be written stays as it is; false:
// there is some.
bool Evictor::write_files(std::span<Job> jobs) {
  const std::vector<FrozenTier::DamagedPage> damage = tier_->damage();
  std::vector<std::pair<Piece*, uint32_t>> all;
  for (Job& job : jobs) {
    for (Piece& piece : job.pieces) {
      begin_places(&piece, job.kind);
      for (uint32_t column = 0; column < piece.columns.size(); ++column) {
        if (!piece.columns[column]) continue;
        if (job.kind == JobKind::kCopy || !use_copy(&piece, column, damage)) all.emplace_back(&piece, column);
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first->cache, a.first->partition, a.second, a.first->chunk) <
           std::tuple(b.first->cache, b.first->partition, b.second, b.first->chunk);
  });
  bool is_all = true;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].first->cache == all[begin].first->cache) ++end;
    const auto of_cache = std::span(all).subspan(begin, end - begin);
    if (write_file(of_cache).ok()) {
      if (jobs[0].kind == JobKind::kEviction) tier_->note_eviction();
      continue;
    }
    is_all = false;
    for (const auto& [piece, column] : of_cache) {
      piece->places->places[column] = TierPlace();
      piece->columns[column] = false;
    }
  }
  return is_all;
}

// Of one cache.
Status Evictor::write_file(std::span<const std::pair<Piece*, uint32_t>> vectors) {
  uint64_t stamp = 0;
  const std::string path = tier_->new_path(&stamp);
  SCYPER_ASSIGN_OR_RETURN(auto writer, TierFileWriter::create(tier_->disk(), path, FrozenTier::kPageBytes, stamp));
  if (before_tier_write.fires()) return absl::ResourceExhaustedError("failpoint tier.before_write");
  for (const auto& [piece, column] : vectors) {
    const FrozenHeader& head = FrozenChunk(piece->image, nullptr).header_of(column);
    TierPlace& place = piece->places->places[column];
    SCYPER_ASSIGN_OR_RETURN(place.offset, writer->append({reinterpret_cast<const char*>(&head), size_t{head.bytes}}));
    place.bytes = head.bytes;
    place.values_at = head.values_at;
  }
  SCYPER_RETURN_IF_ERROR(writer->seal());
  SCYPER_ASSIGN_OR_RETURN(const std::shared_ptr<const TierFile> file, tier_->adopt(path, vectors[0].first->cache));
  for (const auto& [piece, column] : vectors) piece->places->places[column].file = file;
  return Status();
}

void Evictor::make_images(Job* job) {
  for (Piece& piece : job->pieces) {
    if (std::find(piece.columns.begin(), piece.columns.end(), true) == piece.columns.end()) continue;
    const std::string image = without_data(FrozenChunk(piece.image, nullptr), piece.columns);
    piece.next = publish_image(image, job->memory);
    piece.next_bytes = static_cast<uint32_t>(image.size());
    if (piece.next == nullptr) tier_->note_failure();
  }
}

bool Evictor::finish_one(std::span<TablePartition* const> partitions) {
  if (finish_repair(partitions)) return true;
  Job job;
  {
    MutexLock lock(&mutex_);
    const auto found = std::find_if(done_.begin(), done_.end(), [&](const Job& one) {
      return std::all_of(one.pieces.begin(), one.pieces.end(), [&](const Piece& piece) {
        return piece.gate->is_closed() ||
               std::find(partitions.begin(), partitions.end(), piece.partition) != partitions.end();
      });
    });
    if (found == done_.end()) return false;
    job = std::move(*found);
    done_.erase(found);
    for (const Piece& piece : job.pieces) {
      if (job.kind != JobKind::kReturn) in_work_.erase(piece.partition);
    }
    if (job.kind == JobKind::kPromotion) promoting_bytes_ -= job.bytes;
  }
  for (Piece& piece : job.pieces) {
    if (!piece.gate->is_closed()) finish(&piece, job.kind);
    if (job.kind == JobKind::kReturn) note_returned(piece);
  }
  drop(&job);
  return true;
}

void Evictor::finish(Piece* piece, JobKind kind) {
  FrozenSlot& slot = piece->partition->frozen[piece->chunk];
  // the image is pinned, so that no other can have come to its place
  if (slot.state != ChunkState::kFrozen || slot.image != piece->image) return;
  if (piece->next == nullptr && kind != JobKind::kCopy) return;
  uint64_t vectors = 0, bytes = 0;
  const TieredColumns& in_files = comes_to_memory(kind) ? *piece->before : *piece->places;
  for (uint32_t column = 0; column < piece->columns.size(); ++column) {
    if (!piece->columns[column]) continue;
    ++vectors;
    bytes += in_files.places[column].bytes;
    // it has to earn its way back
    if (kind == JobKind::kEviction && slot.marks != nullptr)
      slot.marks[column].cost.store(0, std::memory_order_relaxed);
  }
  if (vectors == 0) return;  // they could not be written
  if (kind == JobKind::kCopy) {
    slot.copies = std::move(piece->places);
    return tier_->note_copied(bytes);
  }
  if (comes_to_memory(kind)) {
    tier_->note_promotion(vectors, bytes);
  } else {
    tier_->note_evicted(vectors, bytes, piece->unwritten_bytes);
  }
  replace_image(piece->partition, piece->chunk, std::exchange(piece->next, nullptr), std::move(piece->places),
                std::move(piece->copies));
}

// What has not come into a slot.
void Evictor::drop(Job* job) noexcept {
  for (const Piece& piece : job->pieces) {
    if (piece.next != nullptr) job->memory->retire(piece.next, piece.next_bytes);
  }
  job->pieces.clear();
  job->memory->unpin(job->pin);
  if (job->kind == JobKind::kEviction) tier_->unclaim(job->bytes);
}

bool Evictor::claim_damaged(std::span<TablePartition* const> partitions) {
  const std::vector<FrozenTier::DamagedPage> pages = tier_->damage();
  if (pages.empty()) return false;
  bool has_found = false;
  for (TablePartition* partition : partitions) {
    FrozenStore* store = partition->table->frozen_store();
    if (store == nullptr || partition->frozen == nullptr || is_in_work(partition)) continue;
    MutexLock lock(&mutex_);
    Known& look = known(partition);
    if (std::exchange(look.looked_at, tier_->now()) == tier_->now()) continue;
    for (uint64_t i = 0; i < partition->chunk_count; ++i) {
      const uint64_t chunk = (look.next_look + i) % partition->chunk_count;
      const FrozenSlot& slot = partition->frozen[chunk];
      // what has been written since the newest archive is nowhere else
      if (slot.state != ChunkState::kFrozen || slot.tiered == nullptr || slot.was_written) continue;
      const auto is_bad = [&](const TierPlace& place) { return is_damaged(place, pages); };
      if (std::none_of(slot.tiered->places.begin(), slot.tiered->places.end(), is_bad)) continue;
      in_work_.insert(partition);
      damaged_.push_back({store->gate, partition, chunk, slot.image, store->memory, store->memory->pin()});
      has_found = true;
      break;  // one at a time
    }
  }
  return has_found;
}

bool Evictor::repair_one() {
  Repair repair;
  {
    MutexLock lock(&mutex_);
    if (damaged_.empty()) return false;
    repair = damaged_.front();
    damaged_.pop_front();
  }
  if (repair.gate->enter()) {
    const Table& table = *repair.partition->table;
    auto image = tier_->make_again(table, repair.partition->partition, static_cast<uint32_t>(repair.chunk));
    if (image.ok()) {
      repair.next = publish_image(*image, repair.memory);
      repair.next_bytes = static_cast<uint32_t>(image->size());
      if (repair.next == nullptr) release_image(image->data(), table.frozen_store()->dictionaries);
    }
    repair.gate->leave();
  }
  MutexLock lock(&mutex_);
  repaired_.push_back(repair);
  return true;
}

bool Evictor::finish_repair(std::span<TablePartition* const> partitions) {
  Repair repair;
  {
    MutexLock lock(&mutex_);
    const auto found = std::find_if(repaired_.begin(), repaired_.end(), [&](const Repair& one) {
      return one.gate->is_closed() ||
             std::find(partitions.begin(), partitions.end(), one.partition) != partitions.end();
    });
    if (found == repaired_.end()) return false;
    repair = *found;
    repaired_.erase(found);
    in_work_.erase(repair.partition);
    if (const auto look = known_.find(repair.partition); look != known_.end()) {
      look->second.looked_at = tier_->now() - (repair.next == nullptr ? 0 : 1);  // there may be more
      look->second.next_look = repair.chunk + 1;
    }
  }
  if (repair.next != nullptr && !repair.gate->is_closed()) {
    const FrozenSlot& slot = repair.partition->frozen[repair.chunk];
    if (slot.state == ChunkState::kFrozen && slot.image == repair.image) {
      put_back_image(repair.partition, repair.chunk, repair.next);
      tier_->note_repair();
      repair.next = nullptr;
    } else {
      release_image(repair.next, repair.partition->table->frozen_store()->dictionaries);
    }
  }
  if (repair.next != nullptr) repair.memory->retire(repair.next, repair.next_bytes);
  repair.memory->unpin(repair.pin);
  return true;
}

}  // namespace scyper::storage
