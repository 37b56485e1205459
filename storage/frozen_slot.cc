#include "storage/frozen_slot.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "frozen_gather.h"
#include "storage/chunk_cursor.h"
#include "storage/hot_view_learner.h"
#include "storage/hot_views.h"
#include "storage/neighbour_reader.h"
#include "tuple_place.h"

namespace scyper::storage {

bool FreezeGate::enter() {
  MutexLock lock(&mutex_);
  if (is_closed_) return false;
  ++within_;
  return true;
}

void FreezeGate::leave() {
  MutexLock lock(&mutex_);
  if (--within_ == 0) left_.notify_all();
}

void FreezeGate::close() {
  MutexLock lock(&mutex_);
  while (within_ > 0) left_.wait(mutex_);
  is_closed_ = true;
}

bool FreezeGate::is_closed() {
  MutexLock lock(&mutex_);
  return is_closed_;
}

FrozenStore::FrozenStore(const TableSchema& schema, FrozenMemory* where)
    : memory(where),
      dictionaries(schema),
      attribute_bytes(std::make_unique<std::atomic<uint64_t>[]>(schema.columns.size())) {}
FrozenStore::~FrozenStore() = default;

void FrozenStore::add_to(TableMemory* sum) const {
  sum->cold_chunks += cold_chunks.load(std::memory_order_relaxed);
  sum->frozen_chunks += frozen_chunks.load(std::memory_order_relaxed);
  const uint64_t others = sum->cold_chunks + sum->frozen_chunks + empty_chunks.load(std::memory_order_relaxed);
  sum->hot_chunks -= std::min(sum->hot_chunks, others);
  sum->frozen_bytes += image_bytes.load(std::memory_order_relaxed);
  sum->dictionary_bytes += dictionaries.memory_bytes();
}

void FrozenStore::change_resident(int64_t bytes) noexcept {
  image_bytes.fetch_add(static_cast<uint64_t>(bytes), std::memory_order_relaxed);
  if (tier != nullptr) tier->add_resident(bytes);
}

void FrozenStore::add_image(const char* image) noexcept {
  const FrozenChunk chunk(image, &dictionaries);
  change_resident(chunk.header().bytes);
  frozen_chunks.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < chunk.header().columns; ++i) {
    attribute_bytes[i].fetch_add(chunk.head(i).header().bytes, std::memory_order_relaxed);
  }
}

void FrozenStore::remove_image(const char* image) noexcept {
  const FrozenChunk chunk(image, &dictionaries);
  change_resident(-int64_t{chunk.header().bytes});
  frozen_chunks.fetch_sub(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < chunk.header().columns; ++i) {
    attribute_bytes[i].fetch_sub(chunk.head(i).header().bytes, std::memory_order_relaxed);
  }
}

std::shared_ptr<const HotViews> FrozenStore::hot_views() const {
  MutexLock lock(&views_mutex_);
  return views_;
}

void FrozenStore::set_hot_views(std::shared_ptr<const HotViews> views) {
  MutexLock lock(&views_mutex_);
  defined_.swap(views);
  put_views_together();
}

void FrozenStore::set_learned_views(std::vector<std::shared_ptr<const HotView>> views) {
  MutexLock lock(&views_mutex_);
  learned_.swap(views);
  put_views_together();
}

void FrozenStore::put_views_together() {
  views_ = defined_;
  if (learned_.empty()) return;
  auto all = defined_ == nullptr ? std::make_shared<HotViews>() : std::make_shared<HotViews>(*defined_);
  const size_t room = HotViews::kMax - all->views.size();
  all->views.insert(all->views.end(), learned_.begin(),
                    learned_.begin() + static_cast<ptrdiff_t>(std::min(room, learned_.size())));
  views_ = std::move(all);
}

uint32_t TouchedTuples::count() const noexcept {
  int count = 0;
  for (const auto& word : words_) count += std::popcount(word.load(std::memory_order_relaxed));
  return static_cast<uint32_t>(count);
}

std::vector<uint32_t> TouchedTuples::take(uint32_t max) {
  std::vector<uint32_t> offsets;
  for (uint32_t i = 0; i < words_.size() && offsets.size() < max; ++i) {
    uint64_t bits = words_[i].load(std::memory_order_relaxed);
    for (; bits != 0 && offsets.size() < max; bits &= bits - 1) {
      offsets.push_back(i * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
    }
    words_[i].store(bits, std::memory_order_relaxed);
  }
  return offsets;
}

ChunkWindow::~ChunkWindow() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

char* ChunkWindow::get(size_t chunk_bytes) noexcept {
  if (chunk_bytes <= bytes_) return data_;
  void* data = mmap(nullptr, chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = static_cast<char*>(data);
  bytes_ = chunk_bytes;
  return data_;
}

void ChunkWindow::clear() noexcept {
  if (data_ != nullptr) madvise(data_, bytes_, MADV_DONTNEED);
}

namespace {

// Of one row, whether it is decoded alone or beside another.
void note_use(const TablePartition* partition, const FrozenSlot& slot, std::span<const uint32_t> columns) noexcept {
  if (slot.marks == nullptr) return;
  const uint32_t now = partition->table->frozen_store()->tier->now();
  const uint32_t cost = sampled_cost();
  for (const uint32_t column : columns) mark_use(slot.marks, now, column, cost);
}

// Positions of a frozen chunk all of whose data is here, their live bytes excepted, to places from `place` on.
void decode_tuples(const TablePartition* partition, const FrozenSlot& slot, std::span<const uint32_t> columns,
                   PositionRange positions, char* window, uint32_t place) noexcept {
  const FrozenStore* store = partition->table->frozen_store();
  const FrozenChunk chunk(slot.image, &store->dictionaries);
  if (positions.count == 1)
    return gather_tuple(chunk, partition->plan->columns, columns, positions.first, window, place);
  gather_tuples(chunk, partition->plan->columns, columns, positions, window, place);
}

}  // namespace

TuplePlace open_tuple(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns, char* window,
                      uint32_t place) noexcept {
  const uint32_t offset = offset_of(tid);
  const FrozenSlot* slot = slot_of(partition, tid);
  if (slot == nullptr) return {chunk_of(partition, tid), offset};
  if (slot->chunk != nullptr) return {slot->chunk, offset};
  window[partition->plan->live_offset + place] = slot->invalid.contains(offset) ? 0 : 1;
  if (slot->state == ChunkState::kEmpty) return {window, place};
  note_use(partition, *slot, columns);
  decode_tuples(partition, *slot, columns, {offset, 1}, window, place);
  return {window, place};
}

// How many tuples from a position on are decoded, the one before which was not.
uint32_t NeighbourReader::expect(uint32_t offset) noexcept {
  constexpr uint32_t kMore = 4;  // where there are more neighbours than last time
  if (offset == last_ + 1) return kMore;
  return std::clamp(std::exchange(opened_, 0), 1u, kAtOnce);
}

TuplePlace NeighbourReader::open(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns,
                                 char* window, uint32_t place) noexcept {
  const FrozenSlot* slot = slot_of(partition, tid);
  if (slot == nullptr || slot->state != ChunkState::kFrozen) return open_tuple(partition, tid, columns, window, place);
  const uint32_t offset = offset_of(tid);
  if (slot->image != image_) {
    image_ = slot->image;
    first_ = count_ = 0;
    last_ = kChunkTuples;
  }
  if (offset - first_ >= count_) {
    const uint32_t positions = FrozenChunk(image_, nullptr).header().count;
    CHECK(offset < positions);
    count_ = std::min(expect(offset), positions - offset);
    first_ = offset;
    decode_tuples(partition, *slot, columns, {first_, count_}, window, place);
  }
  note_use(partition, *slot, columns);
  opened_ += offset == last_ ? 0 : 1;
  last_ = offset;
  place += offset - first_;
  window[partition->plan->live_offset + place] = slot->invalid.contains(offset) ? 0 : 1;
  return {window, place};
}

bool frozen_has_tuple(const TablePartition* partition, Tid tid) noexcept {
  const FrozenSlot* slot = slot_of(partition, tid);
  CHECK(slot != nullptr);
  if (slot->chunk != nullptr) return slot->chunk[partition->plan->live_offset + offset_of(tid)] != 0;
  return !slot->invalid.contains(offset_of(tid));
}

void set_frozen_live(TablePartition* partition, Tid tid, bool live) noexcept {
  FrozenSlot* slot = slot_of(partition, tid);
  CHECK(slot != nullptr);
  if (slot->chunk != nullptr) {
    CHECK(frozen_has_tuple(partition, tid) != live);
    slot->chunk[partition->plan->live_offset + offset_of(tid)] = live ? 1 : 0;
    reinterpret_cast<ChunkHeader*>(slot->chunk)->live += live ? 1 : -1;
  } else {
    CHECK(live ? slot->invalid.remove(offset_of(tid)) : slot->invalid.add(offset_of(tid)));
  }
  std::atomic_ref(partition->live_tuples).store(partition->live_tuples + (live ? 1 : -1), std::memory_order_relaxed);
}

const char* ChunkReader::open(uint64_t chunk) {
  if (partition_->chunks[chunk] != nullptr) return partition_->chunks[chunk];
  char* window = window_.get(partition_->plan->chunk_bytes);
  if (window == nullptr) {
    status_ = sql_error("53200", "out of memory");
    return nullptr;
  }
  const char* opened = open_chunk(partition_, chunk, {columns_, {}, nullptr}, window, &vectors_);
  status_ = vectors_.status();
  return opened;
}

}  // namespace scyper::storage
