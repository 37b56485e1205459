#include "slots.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "positions.h"
#include "storage/string_heap.h"

namespace scyper::storage {
namespace {

FrozenStore* store_of(const TablePartition* partition) { return partition->table->frozen_store(); }

void unlink_free_chunk(TablePartition* partition, uint64_t chunk) noexcept {
  auto* header = header_of(partition->chunks[chunk]);
  if (header->free_head == 0) return;
  uint32_t* link = &partition->free_chunk;
  while (*link != chunk + 1) {
    CHECK(*link != 0);
    link = &header_of(partition->chunks[*link - 1])->next_free_chunk;
  }
  *link = header->next_free_chunk;
  header->next_free_chunk = 0;
  header->free_head = 0;
}

// Of all tuples that the chunk had when it was hot last and that `only_lost` says.
void free_cold_payloads(TablePartition* partition, const FrozenSlot& slot, bool only_lost) noexcept {
  if (partition->plan->payloads.empty()) return;
  const char* live = slot.chunk + partition->plan->live_offset;
  for (uint32_t i = 0; i < kChunkTuples; ++i) {
    if (slot.live_before[i] != 0 && (!only_lost || live[i] == 0)) free_payloads(partition, slot.chunk, i);
  }
}

// Vectors in the tier, and their bytes.
std::pair<uint64_t, uint64_t> count_tiered(const TieredColumns& tiered) noexcept {
  std::pair<uint64_t, uint64_t> sum{0, 0};
  for (const TierPlace& place : tiered.places) {
    sum.first += place.file != nullptr ? 1 : 0;
    sum.second += place.file != nullptr ? place.bytes : 0;
  }
  return sum;
}

void forget_tiered(FrozenStore* store, const FrozenSlot& slot) noexcept {
  const auto [vectors, bytes] = count_tiered(*slot.tiered);
  store->tiered_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  store->tier->remove_tiered(vectors, bytes);
}

void retire_image(const TablePartition* partition, FrozenSlot* slot) noexcept {
  FrozenStore* store = store_of(partition);
  const FrozenChunkHeader header = FrozenChunk(slot->image, nullptr).header();
  store->remove_image(slot->image);
  release_image(slot->image, store->dictionaries);
  store->memory->retire(slot->image, header.bytes);
  slot->image = nullptr;
  if (slot->tiered != nullptr) forget_tiered(store, *slot);
  slot->tiered.reset();
  slot->copies.reset();
  if (store->tier != nullptr) store->tier->free_marks(slot->marks, header.columns);
  slot->marks = nullptr;
}

}  // namespace

bool grow_slots(TablePartition* partition, uint32_t capacity) noexcept {
  if (partition->frozen == nullptr) return true;
  auto* slots = new (std::nothrow) FrozenSlot[capacity];
  if (slots == nullptr) return false;
  std::move(partition->frozen, partition->frozen + partition->chunk_count, slots);
  delete[] partition->frozen;
  partition->frozen = slots;
  return true;
}

void free_slots(TablePartition* partition, bool frees_texts) noexcept {
  for (uint64_t i = 0; partition->frozen != nullptr && i < partition->chunk_count; ++i) {
    FrozenSlot& slot = partition->frozen[i];
    if (slot.chunk != nullptr) {
      if (frees_texts) free_cold_payloads(partition, slot, false);
      free_chunk(partition->table->arena(), slot.chunk);
      store_of(partition)->cold_chunks.fetch_sub(1, std::memory_order_relaxed);
    } else if (slot.state == ChunkState::kFrozen) {
      retire_image(partition, &slot);
    } else if (slot.state == ChunkState::kEmpty) {
      store_of(partition)->empty_chunks.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  delete[] partition->frozen;
  partition->frozen = nullptr;
}

bool seal(TablePartition* partition, uint64_t chunk) noexcept {
  auto* header = header_of(partition->chunks[chunk]);
  if (header->used == kChunkTuples) return true;
  CHECK(chunk + 1 == partition->chunk_count);
  if (header->live == 0) return false;
  header->used = kChunkTuples;
  partition->tuple_limit = (chunk + 1) << kChunkShift;
  return true;
}

bool can_cool(const TablePartition* partition, uint64_t chunk) noexcept {
  if (store_of(partition) == nullptr || chunk >= partition->chunk_count) return false;
  char* hot = partition->chunks[chunk];
  return hot != nullptr && header_of(hot)->used == kChunkTuples && header_of(hot)->live > 0;
}

namespace {

// From here on only tuples are taken out of the chunk.
bool leave_hot(TablePartition* partition, uint64_t chunk, ChunkState state) noexcept {
  CHECK(can_cool(partition, chunk));
  if (partition->frozen == nullptr) {
    partition->frozen = new (std::nothrow) FrozenSlot[partition->chunk_capacity];
    if (partition->frozen == nullptr) return false;
  }
  FrozenSlot& slot = partition->frozen[chunk];
  slot.live_before.reset(new (std::nothrow) char[kChunkTuples]);
  if (slot.live_before == nullptr) return false;
  unlink_free_chunk(partition, chunk);
  slot.chunk = std::exchange(partition->chunks[chunk], nullptr);
  slot.state = state;
  slot.was_written = take_changed(partition, chunk, kChangedForArchive);
  std::memcpy(slot.live_before.get(), slot.chunk + partition->plan->live_offset, kChunkTuples);
  store_of(partition)->cold_chunks.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

bool make_cooling(TablePartition* partition, uint64_t chunk) noexcept {
  std::unique_ptr<CoolingChunk> cooling(new (std::nothrow) CoolingChunk());
  if (cooling == nullptr || !leave_hot(partition, chunk, ChunkState::kCooling)) return false;
  FrozenSlot& slot = partition->frozen[chunk];
  cooling->live = header_of(slot.chunk)->live;
  slot.cooling = std::move(cooling);
  return true;
}

bool make_cold(TablePartition* partition, uint64_t chunk) noexcept {
  const FrozenSlot* hot = partition->frozen == nullptr ? nullptr : &partition->frozen[chunk];
  if (hot == nullptr || hot->state == ChunkState::kHot) return leave_hot(partition, chunk, ChunkState::kCold);
  FrozenSlot& slot = partition->frozen[chunk];
  CHECK(slot.state == ChunkState::kCooling && header_of(slot.chunk)->live > 0);
  free_cold_payloads(partition, slot, true);
  std::memcpy(slot.live_before.get(), slot.chunk + partition->plan->live_offset, kChunkTuples);
  slot.cooling.reset();
  slot.state = ChunkState::kCold;
  return true;
}

void return_to_hot(TablePartition* partition, uint64_t chunk) noexcept {
  FrozenSlot& slot = partition->frozen[chunk];
  CHECK(slot.chunk != nullptr);
  free_cold_payloads(partition, slot, true);
  partition->chunks[chunk] = slot.chunk;
  const char* live = slot.chunk + partition->plan->live_offset;
  if (slot.was_written) partition->changed[chunk] |= kChangedForArchive;
  slot = FrozenSlot();
  for (uint32_t i = 0; i < kChunkTuples; ++i) {
    if (live[i] == 0) free_position(partition, (chunk << kChunkShift) + i);
  }
  store_of(partition)->cold_chunks.fetch_sub(1, std::memory_order_relaxed);
}

void make_frozen(TablePartition* partition, uint64_t chunk, const char* image) noexcept {
  FrozenSlot& slot = partition->frozen[chunk];
  FrozenStore* store = store_of(partition);
  const FrozenChunkHeader& header = FrozenChunk(image, &store->dictionaries).header();
  CHECK(slot.state == ChunkState::kCold && header.count == kChunkTuples);
  slot.invalid = find_dead(slot.chunk + partition->plan->live_offset, kChunkTuples);
  free_cold_payloads(partition, slot, false);
  free_chunk(partition->table->arena(), slot.chunk);
  slot.chunk = nullptr;
  slot.live_before.reset();
  slot.image = image;
  slot.state = ChunkState::kFrozen;
  if (store->tier != nullptr) slot.marks = store->tier->new_marks(header.columns);
  store->add_image(image);
  store->cold_chunks.fetch_sub(1, std::memory_order_relaxed);
}

bool append_frozen(TablePartition* partition, const char* image, InvalidRanges invalid,
                   std::shared_ptr<const TieredColumns> tiered) noexcept {
  const uint64_t chunk = partition->chunk_count;
  FrozenStore* store = store_of(partition);
  CHECK(partition->tuple_limit == chunk << kChunkShift);
  if (chunk == partition->chunk_capacity && !grow_directory(partition)) return false;
  if (partition->frozen == nullptr) {
    partition->frozen = new (std::nothrow) FrozenSlot[partition->chunk_capacity];
    if (partition->frozen == nullptr) return false;
  }
  partition->chunks[chunk] = nullptr;
  partition->changed[chunk] = 0;
  FrozenSlot& slot = partition->frozen[chunk];
  slot.state = ChunkState::kFrozen;
  slot.image = image;
  slot.invalid = std::move(invalid);
  slot.tiered = std::move(tiered);
  slot.marks = store->tier->new_marks(FrozenChunk(image, nullptr).header().columns);
  for (uint32_t column = 0; slot.tiered != nullptr && slot.marks != nullptr && column < slot.tiered->places.size();
       ++column) {
    const bool is_in_file = slot.tiered->places[column].file != nullptr;
    if (is_in_file) slot.marks[column].cost.store(0, std::memory_order_relaxed);
  }
  store->add_image(image);
  if (slot.tiered != nullptr) {
    const auto [vectors, bytes] = count_tiered(*slot.tiered);
    store->tiered_bytes.fetch_add(bytes, std::memory_order_relaxed);
    store->tier->add_tiered(vectors, bytes);
  }
  ++partition->chunk_count;
  partition->tuple_limit = (chunk + 1) << kChunkShift;
  partition->live_tuples += kChunkTuples - slot.invalid.positions();
  return true;
}

void replace_image(TablePartition* partition, uint64_t chunk, const char* image,
                   std::shared_ptr<const TieredColumns> tiered, std::shared_ptr<const TieredColumns> copies) noexcept {
  FrozenSlot& slot = partition->frozen[chunk];
  FrozenStore* store = store_of(partition);
  CHECK(slot.state == ChunkState::kFrozen);
  const uint32_t before = FrozenChunk(slot.image, nullptr).header().bytes;
  const uint32_t after = FrozenChunk(image, nullptr).header().bytes;
  store->memory->retire(std::exchange(slot.image, image), before);
  store->change_resident(int64_t{after} - int64_t{before});
  if (slot.tiered != nullptr) forget_tiered(store, slot);
  slot.tiered = std::move(tiered);
  slot.copies = std::move(copies);
  if (slot.tiered == nullptr) return;
  const auto [vectors, bytes] = count_tiered(*slot.tiered);
  store->tiered_bytes.fetch_add(bytes, std::memory_order_relaxed);
  store->tier->add_tiered(vectors, bytes);
}

void put_back_image(TablePartition* partition, uint64_t chunk, const char* image) noexcept {
  FrozenSlot& slot = partition->frozen[chunk];
  FrozenStore* store = store_of(partition);
  CHECK(slot.state == ChunkState::kFrozen);
  retire_image(partition, &slot);
  slot.image = image;
  slot.marks = store->tier->new_marks(FrozenChunk(image, nullptr).header().columns);
  store->add_image(image);
}

void make_empty(TablePartition* partition, uint64_t chunk) noexcept {
  FrozenSlot& slot = partition->frozen[chunk];
  CHECK(slot.state == ChunkState::kFrozen && slot.invalid.positions() == kChunkTuples);
  retire_image(partition, &slot);
  slot.state = ChunkState::kEmpty;
  store_of(partition)->empty_chunks.fetch_add(1, std::memory_order_relaxed);
}

bool is_to_be_emptied(const TablePartition* partition, uint64_t chunk) noexcept {
  constexpr uint32_t kShare = 4;  // of the tuples, lost since it is frozen
  const FrozenSlot& slot = partition->frozen[chunk];
  if (slot.state != ChunkState::kFrozen) return false;
  const uint32_t gone = slot.invalid.positions();
  if (gone * kShare < kChunkTuples) return false;  // whatever it had at first: without a look at its image
  const uint32_t first = FrozenChunk(slot.image, nullptr).header().live;
  return (gone - (kChunkTuples - first)) * kShare >= first;
}

bool refill_empty(TablePartition* partition) noexcept {
  const FrozenStore* store = store_of(partition);
  if (store == nullptr || store->empty_chunks.load(std::memory_order_relaxed) == 0) return false;
  for (uint64_t chunk = 0; partition->frozen != nullptr && chunk < partition->chunk_count; ++chunk) {
    if (partition->frozen[chunk].state != ChunkState::kEmpty) continue;
    void* memory = partition->table->arena()->allocate(partition->plan->chunk_bytes);
    if (memory == nullptr) return false;
    auto* header = new_header(memory, *partition->plan);
    header->used = kChunkTuples;
    partition->chunks[chunk] = static_cast<char*>(memory);
    partition->changed[chunk] = kChangedForArchive;
    partition->frozen[chunk] = FrozenSlot();
    for (uint32_t i = kChunkTuples; i > 0; --i) free_position(partition, (chunk << kChunkShift) + i - 1);
    store_of(partition)->empty_chunks.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

uint32_t lost_tuples(const TablePartition* partition, uint64_t chunk) noexcept {
  const FrozenSlot& slot = partition->frozen[chunk];
  if (slot.state == ChunkState::kFrozen) return slot.invalid.positions();
  CHECK(slot.state == ChunkState::kCold);
  const auto before = std::count(slot.live_before.get(), slot.live_before.get() + kChunkTuples, 1);
  return static_cast<uint32_t>(before) - header_of(slot.chunk)->live;
}

}  // namespace scyper::storage
