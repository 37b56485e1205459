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
// Fewer than one in so many: position by position. Looking one up takes thirty times as long as decoding one of many
// (bench_compaction).
constexpr uint32_t kFewShare = 32;
constexpr uint32_t kPieceWords = 4;  // of a selection: 256 positions are decoded or left out together

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

void FrozenStore::add_image(const char* image) noexcept {
  const FrozenChunk chunk(image, &dictionaries);
  image_bytes.fetch_add(chunk.header().bytes, std::memory_order_relaxed);
  frozen_chunks.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < chunk.header().columns; ++i) {
    attribute_bytes[i].fetch_add(chunk.column(i).header().bytes, std::memory_order_relaxed);
  }
}

void FrozenStore::remove_image(const char* image) noexcept {
  const FrozenChunk chunk(image, &dictionaries);
  image_bytes.fetch_sub(chunk.header().bytes, std::memory_order_relaxed);
  frozen_chunks.fetch_sub(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < chunk.header().columns; ++i) {
    attribute_bytes[i].fetch_sub(chunk.column(i).header().bytes, std::memory_order_relaxed);
  }
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

using Selection = ChunkSelection;
using Conditions = std::span<const ColumnCondition>;

// Takes the first condition and its alternatives.
Conditions take_term(Conditions* conditions) {
  size_t count = 1;
  while ((*conditions)[count - 1].has_alternative) ++count;
  const Conditions term = conditions->first(count);
  *conditions = conditions->subspan(count);
  return term;
}

// Leaves of the selection what one of the alternatives allows; all of it where one of them cannot tell.
void select_any(const FrozenChunk& chunk, Conditions term, Selection* selection) {
  Selection any{};
  for (const ColumnCondition& condition : term) {
    Selection one;  // of which select() writes what the chunk has
    if (!chunk.column(condition.column).select(condition.predicate, one.data())) return;
    for (size_t i = 0; i < selection_words(chunk.header().count); ++i) any[i] |= one[i];
  }
  for (size_t i = 0; i < any.size(); ++i) (*selection)[i] &= any[i];
}

// What may be a row: positions with a tuple for which no condition is known not to hold. False: none.
bool select_rows(const FrozenChunk& chunk, const FrozenSlot& slot, Conditions conditions, Selection* selection) {
  for (Conditions left = conditions; !left.empty();) {
    const Conditions term = take_term(&left);
    if (std::all_of(term.begin(), term.end(), [&](const ColumnCondition& condition) {
          return chunk.column(condition.column).can_skip(condition.predicate);
        })) {
      return false;
    }
  }
  set_selection(selection->data(), 0, chunk.header().count);
  while (!conditions.empty()) select_any(chunk, take_term(&conditions), selection);
  for (const InvalidRanges::Range& range : slot.invalid.ranges()) {
    clear_selection(selection->data(), range.begin, range.end);
  }
  return std::any_of(selection->begin(), selection->end(), [](uint64_t word) { return word != 0; });
}

// Bits of words to bytes of 0 and 1.
void write_live_bytes(const Selection& selection, uint32_t first_word, uint32_t words, char* live) {
  constexpr uint64_t kBitOfByte = 0x8040201008040201, kLowBits = 0x0101010101010101;
  for (uint32_t word = first_word; word < first_word + words; ++word) {
    for (uint32_t byte = 0; byte < 8; ++byte, live += 8) {
      const uint64_t bits = (((selection[word] >> (byte * 8)) & 0xff) * kLowBits) & kBitOfByte;
      const uint64_t bytes = ((bits + 0x7f * kLowBits) >> 7) & kLowBits;
      std::memcpy(live, &bytes, sizeof(bytes));
    }
  }
}

bool is_empty(const Selection& selection, uint32_t first_word, uint32_t words) {
  return std::all_of(selection.begin() + first_word, selection.begin() + first_word + words,
                     [](uint64_t bits) { return bits == 0; });
}

uint32_t count_selected(const Selection& selection, uint32_t first_word, uint32_t words) {
  uint32_t count = 0;
  for (uint32_t word = first_word; word < first_word + words; ++word) {
    count += static_cast<uint32_t>(std::popcount(selection[word]));
  }
  return count;
}

// Decodes what is selected of positions [begin, end), to the places that are `first` below: position by position where
// that is little, else all.
void decode_selected(const TablePartition* partition, const FrozenChunk& chunk, std::span<const uint32_t> columns,
                     const Selection& selection, uint32_t begin, uint32_t end, char* window, uint32_t first) {
  const uint32_t first_word = begin / 64, words = (end - begin + 63) / 64;
  const bool few = count_selected(selection, first_word, words) < (end - begin) / kFewShare;
  for (const uint32_t column : columns) {
    const FrozenVector vector = chunk.column(column);
    const ColumnAccess& access = partition->plan->columns[column].access;
    if (!few) {
      decode_column(vector, access, begin, end - begin, window, begin - first);
      continue;
    }
    for (uint32_t word = first_word; word < first_word + words; ++word) {
      for (uint64_t bits = selection[word]; bits != 0; bits &= bits - 1) {
        const uint32_t position = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
        decode_column(vector, access, position, 1, window, position - first);
      }
    }
  }
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
  write_live_bytes(selection, 0, static_cast<uint32_t>(selection.size()), window + partition->plan->live_offset);
  const uint32_t count = frozen.header().count;
  for (uint32_t begin = 0; begin < count; begin += kPieceWords * 64) {
    const uint32_t end = std::min(begin + kPieceWords * 64, count);
    if (!is_empty(selection, begin / 64, kPieceWords)) {
      decode_selected(partition, frozen, scan.columns, selection, begin, end, window, 0);
    }
  }
  return window;
}

void ChunkCursor::open(const TablePartition* partition, const FrozenSlot& slot, const ChunkScan& scan, char* window,
                       uint32_t* decoded) noexcept {
  CHECK(slot.state == ChunkState::kFrozen);
  partition_ = partition;
  image_ = slot.image;
  columns_ = scan.columns;
  window_ = window;
  decoded_ = decoded;
  selection_ = {};
  const bool has_rows = select_rows(chunk_at(partition, slot), slot, scan.conditions, &selection_);
  position_ = has_rows ? 0 : kChunkTuples;
}

ChunkCursor::Piece ChunkCursor::next() noexcept {
  while (position_ < kChunkTuples && selection_[position_ / 64] == 0) position_ = (position_ / 64 + 1) * 64;
  if (position_ >= kChunkTuples) return {};
  const FrozenChunk chunk(image_, &partition_->table->frozen_store()->dictionaries);
  const uint32_t piece = position_ / kPieceTuples;
  const uint32_t piece_begin = piece * kPieceTuples;
  const uint32_t piece_end = std::min(piece_begin + kPieceTuples, chunk.header().count);
  const uint32_t begin = position_;
  uint32_t end = piece_end;
  while (selection_[(end - 1) / 64] == 0) end = (end - 1) / 64 * 64;
  position_ = piece_begin + kPieceTuples;
  const uint32_t first = decoded_ == nullptr ? piece_begin : 0;
  write_live_bytes(selection_, begin / 64, (end - begin + 63) / 64,
                   window_ + partition_->plan->live_offset + begin - first);
  if (decoded_ == nullptr) {
    decode_selected(partition_, chunk, columns_, selection_, begin, end, window_, first);
  } else if (((*decoded_ >> piece) & 1) == 0) {
    *decoded_ |= uint32_t{1} << piece;
    for (const uint32_t column : columns_) {
      decode_column(chunk.column(column), partition_->plan->columns[column].access, piece_begin,
                    piece_end - piece_begin, window_, piece_begin);
    }
  }
  return {window_, first, begin - first, end - first};
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
