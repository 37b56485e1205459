#include "runtime/scan_filters.h"

#include <algorithm>
#include <type_traits>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "storage/cell.h"

namespace scyper::query {

using storage::CellKind;
using storage::ColumnAccess;

namespace {

constexpr uint32_t kPlaces = 64;              // of a word of the selection
constexpr uint64_t kExactMax = 1ull << 31;    // places that sums of 32 bits reach
constexpr uint64_t kWordsAskedOfChunk = 512;  // of a filter's bits, before a chunk is read; a few percent of its cost

bool is_exact(const KeyPlaces& places) { return places.shift == 0 && places.size <= kExactMax; }

// sums[j] += key of place j * factor, for 64 places from `place` on. Those without a row too: what they hold says
// nothing and does no harm.
template <typename Sum>
void add_keys(const ColumnAccess& access, const char* window, uint32_t place, uint64_t factor, Sum* sums) noexcept {
  const char* cells = storage::cell_of(access, window, place);
  const auto add = [&]<typename T>(T, auto stride) {
    for (uint32_t j = 0; j < kPlaces; ++j) {
      const int64_t key = storage::load_cell<T>(cells + size_t{j} * stride);
      sums[j] += static_cast<Sum>(key) * static_cast<Sum>(factor);
    }
  };
  const auto add_cells = [&]<typename T>(T zero) {
    if (access.value_stride == sizeof(T)) return add(zero, std::integral_constant<uint32_t, sizeof(T)>());
    add(zero, access.value_stride);
  };
  if (access.kind == CellKind::kInt64) return add_cells(int64_t{});
  if (access.kind == CellKind::kInt32) return add_cells(int32_t{});
  add_cells(int16_t{});
}

uint64_t nulls(const ColumnAccess& access, const char* window, uint32_t place) noexcept {
  uint64_t found = 0;
  for (uint32_t j = 0; j < kPlaces; ++j) {
    found |= uint64_t{storage::is_null(access, window, place + j) ? 1u : 0u} << j;
  }
  return found;
}

template <typename Sum>
uint64_t find_bits(const JoinFilter& made, const Sum* sums) noexcept {
  const uint64_t size = made.places.size, shift = made.places.shift;
  uint64_t found = 0;
  for (uint32_t j = 0; j < kPlaces; ++j) {
    const uint64_t at = uint64_t{sums[j]} >> shift;
    const uint64_t inside = at < size ? at : 0;
    found |= (at < size ? (made.bits[inside / 64] >> (inside % 64)) & 1 : 0) << j;
  }
  return found;
}

#ifdef __x86_64__
// As find_bits() of an exact filter. Eight places at a time: their words are gathered where they lie inside.
__attribute__((target("avx2"))) uint64_t find_exact_bits_avx2(const JoinFilter& made, const uint32_t* sums) noexcept {
  const __m256i last = _mm256_set1_epi32(static_cast<int>(made.places.size - 1));
  const __m256i low_bits = _mm256_set1_epi32(31);
  uint64_t found = 0;
  for (uint32_t j = 0; j < kPlaces; j += 8) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + j));
    const __m256i inside = _mm256_cmpeq_epi32(_mm256_min_epu32(at, last), at);
    const __m256i words = _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), reinterpret_cast<const int*>(made.bits),
                                                      _mm256_srli_epi32(at, 5), inside, 4);
    const __m256i bits = _mm256_sllv_epi32(words, _mm256_andnot_si256(at, low_bits));  // to the sign
    found |= uint64_t{static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(bits)))} << j;
  }
  return found;
}
#endif

uint64_t find_exact_bits(const JoinFilter& made, const uint32_t* sums) noexcept {
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return find_exact_bits_avx2(made, sums);
#endif
  return find_bits(made, sums);
}

bool has_bit(const uint64_t* bits, uint64_t begin, uint64_t last) {
  const uint64_t from = ~uint64_t{0} << begin % 64, to = ~uint64_t{0} >> (63 - last % 64);
  if (begin / 64 == last / 64) return (bits[begin / 64] & from & to) != 0;
  return (bits[begin / 64] & from) != 0 || (bits[last / 64] & to) != 0 ||
         std::any_of(bits + begin / 64 + 1, bits + last / 64, [](uint64_t word) { return word != 0; });
}

}  // namespace

void ScanFilters::reset(std::span<const ChunkFilter> filters, const JoinFilter* const* made,
                        const storage::TableLayout& layout) {
  filters_ = filters;
  made_ = made;
  layout_ = &layout;
  columns_.clear();
  for (const ChunkFilter& filter : filters) {
    columns_.insert(columns_.end(), filter.columns, filter.columns + filter.count);
  }
}

bool ScanFilters::can_skip(const storage::FrozenChunk& chunk) const noexcept {
  for (size_t i = 0; i < filters_.size(); ++i) {
    const KeyPlaces& places = made_[i]->places;
    if (places.size == 0) return true;
    if (filters_[i].count != 1 || !is_exact(places)) continue;  // then the factor is 1
    const storage::FrozenVector column = chunk.head(filters_[i].columns[0]);
    const Datum low = column.min(), high = column.max();
    if (low.null != 0) {
      if (column.header().null_count == column.count()) return true;
      continue;
    }
    const __int128 first_key = static_cast<int64_t>(0 - places.offset);
    const __int128 from = std::max<__int128>(low.lo - first_key, 0);
    const __int128 to = std::min<__int128>(high.lo - first_key, static_cast<__int128>(places.size) - 1);
    if (from > to) return true;
    const auto begin = static_cast<uint64_t>(from), last = static_cast<uint64_t>(to);
    if (last / 64 - begin / 64 < kWordsAskedOfChunk && !has_bit(made_[i]->bits, begin, last)) return true;
  }
  return false;
}

uint64_t ScanFilters::hits(const ChunkFilter& filter, const JoinFilter& made, const char* window,
                           uint32_t place) const noexcept {
  const auto sum_up = [&](auto* sums) {
    using Sum = std::remove_pointer_t<decltype(sums)>;
    std::fill_n(sums, kPlaces, static_cast<Sum>(made.places.offset));
    for (uint32_t key = 0; key < filter.count; ++key) {
      add_keys(layout_->columns[filter.columns[key]], window, place, made.places.factor[key], sums);
    }
  };
  if (is_exact(made.places)) {
    uint32_t sums[kPlaces];
    sum_up(sums);
    return find_exact_bits(made, sums);
  }
  uint64_t sums[kPlaces];
  sum_up(sums);
  return find_bits(made, sums);
}

void ScanFilters::apply(const char* window, uint32_t begin, uint32_t end, uint64_t* selection) noexcept {
  for (size_t i = 0; i < filters_.size(); ++i) {
    const ChunkFilter& filter = filters_[i];
    const JoinFilter& made = *made_[i];
    if (made.places.size == 0) {
      std::fill_n(selection, (end - begin + kPlaces - 1) / kPlaces, 0);
      return;
    }
    for (uint32_t place = begin; place < end; place += kPlaces) {
      uint64_t& word = selection[(place - begin) / kPlaces];
      if (word == 0) continue;
      word &= hits(filter, made, window, place);
      for (uint32_t key = 0; key < filter.count; ++key) {
        const ColumnAccess& access = layout_->columns[filter.columns[key]];
        if (access.null_offset != 0 && word != 0) word &= ~nulls(access, window, place);  // equal nothing
      }
    }
  }
}

}  // namespace scyper::query
