#include "storage/frozen_slot.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kScattered = 256;  // positions decoded at a time where cells do not lie one after the other
// Below: position by position. Looking one up takes thirty times as long as decoding one of many (bench_compaction).
constexpr uint32_t kFewSelected = kChunkTuples / 32;

FrozenChunk chunk_at(const TablePartition* partition, const FrozenSlot& slot) {
  return FrozenChunk(slot.image, &partition->table->frozen_store()->dictionaries);
}

// Cells and NULL bytes of [first, first + count) to the positions from `place` on.
void decode_column(const FrozenVector& vector, const ColumnAccess& access, uint32_t first, uint32_t count, char* window,
                   uint32_t place) noexcept {
  alignas(16) char cells[kScattered * 32];
  uint8_t nulls[kScattered];
  const bool cells_in_place = access.value_stride == access.cell_bytes;
  const bool nulls_in_place = access.null_offset == 0 || access.null_stride == 1;
  if (cells_in_place) vector.decode(first, count, cell_of(access, window, place));
  if (access.null_offset != 0 && nulls_in_place) {
    vector.decode_nulls(first, count, reinterpret_cast<uint8_t*>(window + access.null_offset + place));
  }
  if (cells_in_place && nulls_in_place) return;
  const uint32_t block = std::min<uint32_t>(kScattered, sizeof(cells) / access.cell_bytes);
  for (uint32_t done = 0; done < count; done += block) {
    const uint32_t now = std::min(block, count - done);
    if (!cells_in_place) {
      vector.decode(first + done, now, cells);
      for (uint32_t i = 0; i < now; ++i) {
        std::memcpy(cell_of(access, window, place + done + i), cells + uint64_t{i} * access.cell_bytes,
                    access.cell_bytes);
      }
    }
    if (nulls_in_place) continue;
    vector.decode_nulls(first + done, now, nulls);
    for (uint32_t i = 0; i < now; ++i) {
      window[access.null_offset + uint64_t{place + done + i} * access.null_stride] = static_cast<char>(nulls[i]);
    }
  }
}

}  // namespace

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

void FrozenStore::add_to(TableMemory* sum) const {
  sum->cold_chunks += cold_chunks.load(std::memory_order_relaxed);
  sum->frozen_chunks += frozen_chunks.load(std::memory_order_relaxed);
  const uint64_t others = sum->cold_chunks + sum->frozen_chunks + empty_chunks.load(std::memory_order_relaxed);
  sum->hot_chunks -= std::min(sum->hot_chunks, others);
  sum->frozen_bytes += image_bytes.load(std::memory_order_relaxed);
  sum->dictionary_bytes += dictionaries.memory_bytes();
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

TuplePlace open_tuple(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns, char* window,
                      uint32_t place) noexcept {
  const uint32_t offset = offset_of(tid);
  const FrozenSlot* slot = slot_of(partition, tid);
  if (slot == nullptr) return {chunk_of(partition, tid), offset};
  if (slot->state == ChunkState::kCold) return {slot->chunk, offset};
  window[partition->plan->live_offset + place] = slot->invalid.contains(offset) ? 0 : 1;
  if (slot->state == ChunkState::kEmpty) return {window, place};
  const FrozenChunk chunk = chunk_at(partition, *slot);
  for (const uint32_t column : columns) {
    decode_column(chunk.column(column), partition->plan->columns[column].access, offset, 1, window, place);
  }
  return {window, place};
}

namespace {

using Selection = std::array<uint64_t, selection_words(kChunkTuples)>;

// What may be a row: positions with a tuple for which no condition is known not to hold. False: none.
bool select_rows(const FrozenChunk& chunk, const FrozenSlot& slot, std::span<const ColumnCondition> conditions,
                 Selection* selection) {
  for (const ColumnCondition& condition : conditions) {
    if (chunk.column(condition.column).can_skip(condition.predicate)) return false;
  }
  const uint32_t count = chunk.header().count;
  set_selection(selection->data(), 0, count);
  for (const ColumnCondition& condition : conditions) {
    Selection one{};
    if (!chunk.column(condition.column).select(condition.predicate, one.data())) continue;
    for (size_t i = 0; i < one.size(); ++i) (*selection)[i] &= one[i];
  }
  for (const InvalidRanges::Range& range : slot.invalid.ranges()) {
    clear_selection(selection->data(), range.begin, range.end);
  }
  return std::any_of(selection->begin(), selection->end(), [](uint64_t word) { return word != 0; });
}

void write_live_bytes(const Selection& selection, char* live) {
  for (uint32_t i = 0; i < kChunkTuples; ++i) live[i] = static_cast<char>((selection[i / 64] >> (i % 64)) & 1);
}

}  // namespace

const char* open_chunk(const TablePartition* partition, uint64_t chunk, const ChunkScan& scan, char* window) noexcept {
  const FrozenSlot* slot = slot_of(partition, chunk << kChunkShift);
  if (slot == nullptr) return partition->chunks[chunk];
  if (slot->state == ChunkState::kCold) return slot->chunk;
  if (slot->state == ChunkState::kEmpty) return nullptr;
  const FrozenChunk frozen = chunk_at(partition, *slot);
  Selection selection{};
  if (!select_rows(frozen, *slot, scan.conditions, &selection)) return nullptr;
  write_live_bytes(selection, window + partition->plan->live_offset);
  uint32_t positions[kFewSelected];
  uint32_t selected = 0;
  for (const uint64_t word : selection) selected += static_cast<uint32_t>(std::popcount(word));
  const bool few = selected < kFewSelected;
  if (few) selected_positions(selection.data(), kChunkTuples, positions);
  for (const uint32_t column : scan.columns) {
    const FrozenVector vector = frozen.column(column);
    const ColumnAccess& access = partition->plan->columns[column].access;
    if (!few) decode_column(vector, access, 0, vector.count(), window, 0);
    for (uint32_t i = 0; few && i < selected; ++i) {
      decode_column(vector, access, positions[i], 1, window, positions[i]);
    }
  }
  return window;
}

TuplePlace open_in_own_window(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns) noexcept {
  thread_local ChunkWindow window;
  char* data = window.get(partition->plan->chunk_bytes);
  CHECK(data != nullptr);
  return open_tuple(partition, tid, columns, data, 0);
}

bool frozen_has_tuple(const TablePartition* partition, Tid tid) noexcept {
  const FrozenSlot* slot = slot_of(partition, tid);
  CHECK(slot != nullptr);
  if (slot->state == ChunkState::kCold) return slot->chunk[partition->plan->live_offset + offset_of(tid)] != 0;
  return !slot->invalid.contains(offset_of(tid));
}

void set_frozen_live(TablePartition* partition, Tid tid, bool live) noexcept {
  FrozenSlot* slot = slot_of(partition, tid);
  CHECK(slot != nullptr && frozen_has_tuple(partition, tid) != live);
  if (slot->state == ChunkState::kCold) {
    slot->chunk[partition->plan->live_offset + offset_of(tid)] = live ? 1 : 0;
    reinterpret_cast<ChunkHeader*>(slot->chunk)->live += live ? 1 : -1;
  } else if (live) {
    slot->invalid.remove(offset_of(tid));
  } else {
    slot->invalid.add(offset_of(tid));
  }
  std::atomic_ref(partition->live_tuples).store(partition->live_tuples + (live ? 1 : -1), std::memory_order_relaxed);
}

const char* ChunkReader::open(uint64_t chunk) {
  if (partition_->chunks[chunk] != nullptr) return partition_->chunks[chunk];
  char* window = window_.get(partition_->plan->chunk_bytes);
  has_memory_ = window != nullptr;
  return has_memory_ ? open_chunk(partition_, chunk, {columns_, {}}, window) : nullptr;
}

}  // namespace scyper::storage
