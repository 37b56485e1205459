#include "frozen_gather.h"

#include <algorithm>
#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/check.h"
#include "bit_packing.h"
#include "frozen_entry.h"
#include "frozen_format.h"

namespace scyper::storage {
namespace {

using PositionSpan = std::span<const uint32_t>;

// The runs of positions that come in order.
class RunFinder {
 public:
  RunFinder(const uint16_t* ends, uint32_t runs, uint32_t first) : ends_(ends), runs_(runs), run_(first) {}
  uint32_t find(uint32_t position) {
    if (ends_[run_] > position) return run_;
    // how many of the next ones end before it, without a branch that could be predicted wrongly
    if (run_ + kAtOnce > runs_ || ends_[run_ + kAtOnce - 1] <= position) {
      return run_ = static_cast<uint32_t>(std::upper_bound(ends_ + run_, ends_ + runs_, position) - ends_);
    }
    return run_ += count_ended(position);
  }

 private:
  static constexpr uint32_t kAtOnce = 16;

  // Of the next kAtOnce.
  uint32_t count_ended(uint32_t position) const {
    const uint16_t* const ends = ends_ + run_;
#ifdef __SSE2__
    const __m128i all = _mm_set1_epi16(static_cast<int16_t>(position));  // positions fit
    const __m128i low = _mm_cmpgt_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(ends)), all);
    const __m128i high = _mm_cmpgt_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(ends + 8)), all);
    return static_cast<uint32_t>(
        std::countr_zero(static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)))));
#else
    return static_cast<uint32_t>(std::upper_bound(ends, ends + kAtOnce, position) - ends);
#endif
  }
  const uint16_t* const ends_;
  const uint32_t runs_;
  uint32_t run_;
};

// take(i, entry) for each of the positions, a PositionSpan or a PositionRange.
template <typename Positions, typename Take>
void for_each_entry(const FrozenHeader& head, Positions positions, Take take) {
  if (head.has_runs == 0) {
    for (size_t i = 0; i < positions.size(); ++i) take(i, positions[i]);
    return;
  }
  const char* image = reinterpret_cast<const char*>(&head);
  RunFinder runs(reinterpret_cast<const uint16_t*>(image + head.run_ends_at), head.entries,
                 find_entry(head, positions[0]));
  for (size_t i = 0; i < positions.size(); ++i) take(i, runs.find(positions[i]));
}

template <typename T, typename Positions>
void gather_numbers(const FrozenHeader& head, Positions positions, char* cells, uint32_t first, uint32_t stride) {
  const char* image = reinterpret_cast<const char*>(&head);
  const char* codes = image + head.codes_at;
  const char* values = image + head.values_at;
  const auto reference = to_cell<T>(to_int128(head.reference));
  const bool holds_keys = head.kind == CellKind::kFloat64 && holds_float_keys(head);
  const auto put = [&](size_t i, T value) {
    if constexpr (sizeof(T) == sizeof(int64_t)) {
      if (holds_keys) value = static_cast<T>(order_key(static_cast<int64_t>(value)));
    }
    save_cell(cells + uint64_t{positions[i] - first} * stride, value);
  };
  switch (head.scheme) {
    case FrozenScheme::kConstant:
      for (size_t i = 0; i < positions.size(); ++i) put(i, reference);
      return;
    case FrozenScheme::kPlain:
      return for_each_entry(head, positions, [&](size_t i, uint32_t entry) {
        put(i, load_cell<T>(values + uint64_t{entry} * sizeof(T)));
      });
    case FrozenScheme::kPacked:
      return for_each_entry(head, positions, [&](size_t i, uint32_t entry) {
        put(i, add_code(reference, unpack_one(codes, entry, head.code_bits)));
      });
    case FrozenScheme::kDictionary:
      return for_each_entry(head, positions, [&](size_t i, uint32_t entry) {
        put(i, load_cell<T>(values + unpack_one(codes, entry, head.code_bits) * sizeof(T)));
      });
  }
}

template <typename Positions>
void gather_cells(const FrozenVector& vector, Positions positions, char* cells, uint32_t first, uint32_t stride) {
  const FrozenHeader& head = vector.header();
  switch (head.kind) {
    case CellKind::kBool:
      return gather_numbers<uint8_t>(head, positions, cells, first, stride);
    case CellKind::kInt16:
      return gather_numbers<int16_t>(head, positions, cells, first, stride);
    case CellKind::kInt32:
      return gather_numbers<int32_t>(head, positions, cells, first, stride);
    case CellKind::kInt64:
    case CellKind::kFloat64:
      return gather_numbers<int64_t>(head, positions, cells, first, stride);
    case CellKind::kInt128:
      return gather_numbers<WideCell>(head, positions, cells, first, stride);
    default:
      for (size_t i = 0; i < positions.size(); ++i) {
        vector.decode_one(positions[i], cells + uint64_t{positions[i] - first} * stride);
      }
  }
}

}  // namespace

void gather_column(const FrozenVector& vector, const ColumnAccess& access, PositionSpan positions, uint32_t first,
                   char* window) noexcept {
  char* cells = window + access.value_offset;
  if (positions.size() == 1) {
    const uint64_t place = positions[0] - first;
    if (access.null_offset != 0) {
      window[access.null_offset + place * access.null_stride] = vector.is_null(positions[0]) ? 1 : 0;
    }
    return vector.decode_one(positions[0], cells + place * access.value_stride);
  }
  if (access.null_offset != 0) {
    for (const uint32_t position : positions) {
      window[access.null_offset + uint64_t{position - first} * access.null_stride] = vector.is_null(position) ? 1 : 0;
    }
  }
  gather_cells(vector, positions, cells, first, access.value_stride);
}

namespace {

// Of a number.
void decode_entry(const FrozenHeader& head, uint32_t entry, char* cell) {
  switch (head.kind) {
    case CellKind::kBool:
      return save_cell(cell, cell_of_entry<uint8_t>(head, entry));
    case CellKind::kInt16:
      return save_cell(cell, cell_of_entry<int16_t>(head, entry));
    case CellKind::kInt32:
      return save_cell(cell, cell_of_entry<int32_t>(head, entry));
    case CellKind::kInt64:
      return save_cell(cell, cell_of_entry<int64_t>(head, entry));
    case CellKind::kFloat64: {
      const auto value = cell_of_entry<int64_t>(head, entry);
      return save_cell(cell, holds_float_keys(head) ? order_key(value) : value);
    }
    default:
      return save_cell(cell, cell_of_entry<WideCell>(head, entry));
  }
}

}  // namespace

void gather_tuple(const FrozenChunk& chunk, std::span<const ColumnPlan> plans, std::span<const uint32_t> columns,
                  uint32_t position, char* window, uint32_t place) noexcept {
  constexpr size_t kAtOnce = 16;
  uint32_t entries[kAtOnce];
  CHECK(position < chunk.header().count);
  while (!columns.empty()) {
    const std::span<const uint32_t> some = columns.first(std::min(kAtOnce, columns.size()));
    columns = columns.subspan(some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      const FrozenHeader& head = chunk.header_of(some[i]);
      entries[i] = find_entry(head, position);
      prefetch_entry(head, entries[i]);
    }
    for (size_t i = 0; i < some.size(); ++i) {
      const FrozenVector vector = chunk.column(some[i]);
      const ColumnAccess& access = plans[some[i]].access;
      if (access.null_offset != 0) {
        window[access.null_offset + uint64_t{place} * access.null_stride] = vector.is_null(position) ? 1 : 0;
      }
      char* cell = window + access.value_offset + uint64_t{place} * access.value_stride;
      if (holds_text(access.kind)) {
        vector.decode_one(position, cell);
      } else {
        decode_entry(vector.header(), entries[i], cell);
      }
    }
  }
}

void gather_tuples(const FrozenChunk& chunk, std::span<const ColumnPlan> plans, std::span<const uint32_t> columns,
                   PositionRange positions, char* window, uint32_t place) noexcept {
  CHECK(positions.count > 0 && positions.count <= chunk.header().count - positions.first);
  for (const uint32_t column : columns) {
    const FrozenHeader& head = chunk.header_of(column);
    prefetch_entry(head, find_entry(head, positions.first));
  }
  for (const uint32_t column : columns) {
    const FrozenVector vector = chunk.column(column);
    const ColumnAccess& access = plans[column].access;
    char* null_byte = window + access.null_offset + uint64_t{place} * access.null_stride;
    for (size_t i = 0; access.null_offset != 0 && i < positions.size(); ++i, null_byte += access.null_stride) {
      *null_byte = vector.is_null(positions[i]) ? 1 : 0;
    }
    gather_cells(vector, positions, cell_of(access, window, place), positions.first, access.value_stride);
  }
}

}  // namespace scyper::storage
