#include "storage/chunk_cursor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "base/check.h"
#include "condition_terms.h"
#include "frozen_gather.h"
#include "row_plan.h"
#include "storage/hot_view_learner.h"
#include "storage/hot_views.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kScattered = 256;  // positions decoded at a time where cells do not lie one after the other
// Fewer than one in so many: only those. Finding one takes so many times as long as decoding one of all.
constexpr uint32_t kFewShare = 16;
constexpr uint32_t kPieceWords = 4;  // of a selection: 256 positions are decoded or left out together

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

using Selection = ChunkSelection;
using Conditions = std::span<const ColumnCondition>;

// Leaves of the selection what one of the alternatives allows; all of it where one of them cannot tell. False: an
// error.
bool select_any(VectorReader* vectors, Conditions term, Selection* selection) {
  Selection any{};
  for (const ColumnCondition& condition : term) {
    Selection one;  // of which select() writes what the chunk has
    if (!vectors->bring(condition.column)) return false;
    if (!vectors->column(condition.column).select(condition.predicate, one.data())) return true;
    for (size_t i = 0; i < selection_words(vectors->chunk().header().count); ++i) any[i] |= one[i];
  }
  for (size_t i = 0; i < any.size(); ++i) (*selection)[i] &= any[i];
  return true;
}

// Bits of words to bytes of 0 and 1.
void write_live_bytes(const Selection& selection, uint32_t first_word, uint32_t words, char* live) {
  constexpr uint64_t kBitOfByte = 0x8040201008040201, kLowBits = 0x0101010101010101;
  for (uint32_t word = first_word; word < first_word + words; ++word, live += 64) {
    if (selection[word] == 0 || selection[word] == ~uint64_t{0}) {
      std::memset(live, selection[word] == 0 ? 0 : 1, 64);
      continue;
    }
    for (uint32_t byte = 0; byte < 8; ++byte) {
      const uint64_t bits = (((selection[word] >> (byte * 8)) & 0xff) * kLowBits) & kBitOfByte;
      const uint64_t bytes = ((bits + 0x7f * kLowBits) >> 7) & kLowBits;
      std::memcpy(live + byte * 8, &bytes, sizeof(bytes));
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

// Decodes what is selected of positions [begin, end), at most a piece, to the places that are `first` below: only that
// where it is little, else all. The columns have been brought.
void decode_selected(const TablePartition* partition, const VectorReader& chunk, std::span<const uint32_t> columns,
                     const Selection& selection, uint32_t begin, uint32_t end, char* window, uint32_t first) {
  const uint32_t first_word = begin / 64, words = (end - begin + 63) / 64;
  const uint32_t selected = count_selected(selection, first_word, words);
  if (selected >= (end - begin) / kFewShare) {
    for (const uint32_t column : columns) {
      decode_column(chunk.column(column), partition->plan->columns[column].access, begin, end - begin, window,
                    begin - first);
    }
    return;
  }
  uint32_t positions[ChunkCursor::kPieceTuples / kFewShare];
  uint32_t found = 0;
  for (uint32_t word = first_word; word < first_word + words; ++word) {
    for (uint64_t bits = selection[word]; bits != 0; bits &= bits - 1) {
      positions[found++] = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
    }
  }
  for (const uint32_t column : columns) {
    gather_column(chunk.column(column), partition->plan->columns[column].access, {positions, found}, first, window);
  }
}

}  // namespace

bool select_rows(VectorReader* vectors, const InvalidRanges& invalid, std::span<const ColumnCondition> conditions,
                 ChunkSelection* selection) noexcept {
  for (Conditions left = conditions; !left.empty();) {
    const Conditions term = take_term(&left);
    if (std::all_of(term.begin(), term.end(), [&](const ColumnCondition& condition) {
          return vectors->can_skip(condition.column, condition.predicate);
        })) {
      return false;
    }
  }
  set_selection(selection->data(), 0, vectors->chunk().header().count);
  while (!conditions.empty()) {
    if (!select_any(vectors, take_term(&conditions), selection)) return false;
  }
  for (const InvalidRanges::Range& range : invalid.ranges()) {
    clear_selection(selection->data(), range.begin, range.end);
  }
  return std::any_of(selection->begin(), selection->end(), [](uint64_t word) { return word != 0; });
}

const char* open_chunk(const TablePartition* partition, uint64_t chunk, const ChunkScan& scan, char* window,
                       VectorReader* vectors) noexcept {
  const FrozenSlot* slot = slot_of(partition, chunk << kChunkShift);
  if (slot == nullptr) return partition->chunks[chunk];
  if (slot->chunk != nullptr) return slot->chunk;
  if (slot->state == ChunkState::kEmpty) return nullptr;
  vectors->open(partition, *slot);
  Selection selection{};
  if (!select_rows(vectors, slot->invalid, scan.conditions, &selection) || !vectors->bring(scan.columns))
    return nullptr;
  write_live_bytes(selection, 0, static_cast<uint32_t>(selection.size()), window + partition->plan->live_offset);
  const uint32_t count = vectors->chunk().header().count;
  for (uint32_t begin = 0; begin < count; begin += kPieceWords * 64) {
    const uint32_t end = std::min(begin + kPieceWords * 64, count);
    if (!is_empty(selection, begin / 64, kPieceWords)) {
      decode_selected(partition, *vectors, scan.columns, selection, begin, end, window, 0);
    }
  }
  return window;
}

namespace {

// Of a chunk none of whose tuples is gone.
std::optional<__int128> aggregate_column(const FrozenVector& vector, ChunkAggregate::Kind kind, uint32_t values) {
  if (kind == ChunkAggregate::Kind::kValues) return values;
  if (values == 0) return 0;
  if (kind == ChunkAggregate::Kind::kSum) return vector.sum();
  const Datum bound = kind == ChunkAggregate::Kind::kMin ? vector.min() : vector.max();
  return bound.null != 0 ? std::nullopt : std::optional(bound.int128());
}

// Whether all conditions hold for all tuples, by what the vectors know, and none has gone.
bool holds_for_whole_chunk(const FrozenChunk& chunk, const FrozenSlot& slot, Conditions conditions) {
  if (slot.invalid.positions() != chunk.header().count - chunk.header().live) return false;
  while (!conditions.empty()) {
    const Conditions term = take_term(&conditions);
    if (std::none_of(term.begin(), term.end(), [&](const ColumnCondition& condition) {
          return chunk.head(condition.column).holds_for_all(condition.predicate);
        })) {
      return false;
    }
  }
  return true;
}

// Whether what select() says is what SQL says: of doubles it is not, which have two zeros; texts are left to the rows.
bool is_exact(const FrozenChunk& chunk, const ColumnCondition& condition) {
  using Kind = FrozenPredicate::Kind;
  if (condition.predicate.kind == Kind::kIsNull || condition.predicate.kind == Kind::kIsNotNull) return true;
  const CellKind kind = chunk.header_of(condition.column).kind;
  return !holds_bytes(chunk.header_of(condition.column).type) && kind != CellKind::kDecimal &&
         kind != CellKind::kFloat64;
}

// The tuples for which the conditions hold. False: that cannot be told.
bool select_exactly(const FrozenChunk& chunk, const InvalidRanges& invalid, Conditions conditions,
                    Selection* selection) {
  set_selection(selection->data(), 0, chunk.header().count);
  while (!conditions.empty()) {
    const Conditions term = take_term(&conditions);
    if (std::all_of(term.begin(), term.end(), [&](const ColumnCondition& condition) {
          return chunk.column(condition.column).can_skip(condition.predicate);
        })) {
      return false;  // a scan passes over it, and counts that
    }
    Selection any{};
    for (const ColumnCondition& condition : term) {
      Selection one{};
      if (!chunk.column(condition.column).select(condition.predicate, one.data())) return false;
      for (size_t i = 0; i < any.size(); ++i) any[i] |= one[i];
    }
    for (size_t i = 0; i < any.size(); ++i) (*selection)[i] &= any[i];
  }
  for (const InvalidRanges::Range& range : invalid.ranges()) {
    clear_selection(selection->data(), range.begin, range.end);
  }
  return true;
}

// take(cell) for each selected position.
template <typename Cell, typename Take>
void visit_selected(const FrozenVector& vector, const Selection& selection, Take take) {
  constexpr uint32_t kBlock = kPieceWords * 64;
  Cell cells[kBlock];
  for (uint32_t begin = 0; begin < vector.count(); begin += kBlock) {
    if (is_empty(selection, begin / 64, kPieceWords)) continue;
    vector.decode(begin, std::min(kBlock, vector.count() - begin), reinterpret_cast<char*>(cells));
    for (uint32_t word = 0; word < kPieceWords; ++word) {
      const Cell* const first = cells + word * 64;
      uint64_t bits = selection[begin / 64 + word];
      if (bits == ~uint64_t{0}) {
        for (uint32_t i = 0; i < 64; ++i) take(first[i]);
        continue;
      }
      for (; bits != 0; bits &= bits - 1) take(first[std::countr_zero(bits)]);
    }
  }
}

bool can_aggregate(const FrozenChunk& chunk, const ChunkAggregate& wanted) {
  if (wanted.kind == ChunkAggregate::Kind::kRows || wanted.kind == ChunkAggregate::Kind::kValues) return true;
  const CellKind kind = chunk.header_of(wanted.column).kind;
  return kind == CellKind::kInt16 || kind == CellKind::kInt32 || kind == CellKind::kInt64;
}

// Of at least one value; Sum: of all that a chunk can have.
template <typename Cell, typename Sum>
__int128 aggregate_selected(const FrozenVector& vector, ChunkAggregate::Kind kind, const Selection& selection) {
  if (kind == ChunkAggregate::Kind::kSum) {
    Sum sum = 0;
    visit_selected<Cell>(vector, selection, [&](Cell cell) { sum += cell; });
    return sum;
  }
  const bool is_min = kind == ChunkAggregate::Kind::kMin;
  Cell best = is_min ? std::numeric_limits<Cell>::max() : std::numeric_limits<Cell>::min();
  visit_selected<Cell>(vector, selection,
                       [&](Cell cell) { best = is_min ? std::min(best, cell) : std::max(best, cell); });
  return best;
}

// Where can_aggregate().
std::optional<__int128> aggregate_selected(const FrozenVector& vector, ChunkAggregate::Kind kind, Selection selection) {
  if (vector.header().null_count != 0) {
    Selection values{};
    if (!vector.select(FrozenPredicate::is_null(false), values.data())) return std::nullopt;
    for (size_t i = 0; i < selection.size(); ++i) selection[i] &= values[i];
  }
  const uint32_t values = count_selected(selection, 0, static_cast<uint32_t>(selection.size()));
  if (values == 0 || kind == ChunkAggregate::Kind::kValues) return values;
  switch (vector.header().kind) {
    case CellKind::kInt16:
      return aggregate_selected<int16_t, int64_t>(vector, kind, selection);
    case CellKind::kInt32:
      return aggregate_selected<int32_t, int64_t>(vector, kind, selection);
    case CellKind::kInt64:
      return aggregate_selected<int64_t, __int128>(vector, kind, selection);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool aggregate_chunk(const TablePartition* partition, const FrozenSlot& slot,
                     std::span<const ColumnCondition> conditions, std::span<const ChunkAggregate> wanted,
                     __int128* results) noexcept {
  const FrozenStore& store = *partition->table->frozen_store();
  const FrozenChunk chunk(slot.image, &store.dictionaries);
  const bool is_whole = holds_for_whole_chunk(chunk, slot, conditions);
  Selection selection{};
  if (!is_whole) {
    // scans bring what is in a tier, tell what they ask, and pass over what views leave out
    const auto is_wanted_told = [&](const ChunkAggregate& aggregate) { return can_aggregate(chunk, aggregate); };
    const auto is_condition_told = [&](const ColumnCondition& condition) { return is_exact(chunk, condition); };
    if (store.tier != nullptr || store.learner != nullptr ||
        find_pruning_view(slot, partition->table->schema(), conditions) != nullptr ||
        !std::all_of(wanted.begin(), wanted.end(), is_wanted_told) ||
        !std::all_of(conditions.begin(), conditions.end(), is_condition_told)) {
      return false;
    }
    if (!select_exactly(chunk, slot.invalid, conditions, &selection)) return false;
  }
  const uint32_t live =
      is_whole ? chunk.header().live : count_selected(selection, 0, static_cast<uint32_t>(selection.size()));
  for (const ChunkAggregate& aggregate : wanted) {
    std::optional<__int128> result = live;
    if (aggregate.kind != ChunkAggregate::Kind::kRows && is_whole) {
      const FrozenVector vector = chunk.head(aggregate.column);
      result = aggregate_column(vector, aggregate.kind, live - vector.header().null_count);
    } else if (aggregate.kind != ChunkAggregate::Kind::kRows) {
      result = aggregate_selected(chunk.column(aggregate.column), aggregate.kind, selection);
    }
    if (!result.has_value()) return false;
    *results++ = *result;
  }
  return true;
}

void ChunkCursor::open(const TablePartition* partition, const FrozenSlot& slot, const ChunkScan& scan, char* window,
                       uint32_t* decoded, VectorReader* vectors) noexcept {
  CHECK(slot.state == ChunkState::kFrozen);
  partition_ = partition;
  vectors_ = vectors;
  columns_ = scan.columns;
  filter_ = decoded == nullptr ? scan.filter : nullptr;
  window_ = window;
  decoded_ = decoded;
  selection_ = {};
  vectors->open(partition, slot);
  const bool has_rows = select_rows(vectors, slot.invalid, scan.conditions, &selection_);
  position_ = has_rows ? 0 : kChunkTuples;
}

bool ChunkCursor::decode(std::span<const uint32_t> columns, uint32_t begin, uint32_t end, uint32_t first) noexcept {
  if (!vectors_->bring(columns)) return false;
  decode_selected(partition_, *vectors_, columns, selection_, begin, end, window_, first);
  return true;
}

// Whether any row is left; false also on errors.
bool ChunkCursor::filter_rows(uint32_t begin, uint32_t end, uint32_t first) noexcept {
  if (filter_ == nullptr) return true;
  if (!decode(filter_->columns(), begin, end, first)) return false;
  filter_->apply(window_, begin - first, end - first, selection_.data() + begin / 64);
  return !is_empty(selection_, begin / 64, (end - begin + 63) / 64);
}

ChunkCursor::Piece ChunkCursor::next() noexcept {
  while (vectors_->status().ok()) {
    while (position_ < kChunkTuples && selection_[position_ / 64] == 0) position_ = (position_ / 64 + 1) * 64;
    if (position_ >= kChunkTuples) return {};
    const uint32_t piece = position_ / kPieceTuples;
    const uint32_t piece_begin = piece * kPieceTuples;
    const uint32_t piece_end = std::min(piece_begin + kPieceTuples, vectors_->chunk().header().count);
    const uint32_t begin = position_;
    uint32_t end = piece_end;
    while (selection_[(end - 1) / 64] == 0) end = (end - 1) / 64 * 64;
    position_ = piece_begin + kPieceTuples;
    const uint32_t first = decoded_ == nullptr ? piece_begin : 0;
    if (!filter_rows(begin, end, first)) continue;
    write_live_bytes(selection_, begin / 64, (end - begin + 63) / 64,
                     window_ + partition_->plan->live_offset + begin - first);
    if (decoded_ == nullptr) {
      if (!decode(columns_, begin, end, first)) return {};
    } else if (((*decoded_ >> piece) & 1) == 0) {
      if (!vectors_->bring(columns_)) return {};
      *decoded_ |= uint32_t{1} << piece;
      for (const uint32_t column : columns_) {
        decode_column(vectors_->column(column), partition_->plan->columns[column].access, piece_begin,
                      piece_end - piece_begin, window_, piece_begin);
      }
    }
    return {window_, first, begin - first, end - first};
  }
  return {};
}

}  // namespace scyper::storage
