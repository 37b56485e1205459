#include "frozen_encoder.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

// From hot cells to the image of a frozen vector: positions, NULLs, numbers.
namespace scyper::storage {
namespace {

Positions find_positions(const FrozenSource& source) {
  Positions found;
  found.matters.assign(source.count, 1);
  found.nulls.assign(source.count, 0);
  if (source.live != nullptr) {
    for (uint32_t i = 0; i < source.count; ++i) found.matters[i] = source.live[i] != 0 ? 1 : 0;
  }
  if (source.access.null_offset != 0) {
    for (uint32_t i = 0; i < source.count; ++i) {
      found.nulls[i] = is_null(source.access, source.chunk, i) ? found.matters[i] : 0;
      found.matters[i] ^= found.nulls[i];
      found.null_count += found.nulls[i];
    }
  }
  const auto first = std::find(found.matters.begin(), found.matters.end(), 1);
  found.first = static_cast<uint32_t>(first - found.matters.begin());
  found.all = std::find(first, found.matters.end(), 0) == found.matters.end() && found.first == 0;
  return found;
}

void add_nulls(const Positions& positions, VectorImage* image) {
  const auto count = static_cast<uint32_t>(positions.nulls.size());
  image->header().null_count = positions.null_count;
  if (positions.null_count == 0) return;
  if (positions.null_count == count) {
    image->header().null_form = NullForm::kAll;
    return;
  }
  std::vector<uint16_t> borders;
  for (uint32_t i = 0; i < count; ++i) {
    const bool before = i > 0 && positions.nulls[i - 1] != 0;
    if ((positions.nulls[i] != 0) != before) borders.push_back(static_cast<uint16_t>(i));
  }
  if (borders.size() % 2 == 1) borders.push_back(static_cast<uint16_t>(count));
  const bool as_ranges = borders.size() * sizeof(uint16_t) <= count / 8;
  image->header().null_form = as_ranges ? NullForm::kRanges : NullForm::kBits;
  if (as_ranges) {
    const uint32_t begin = image->add_section(borders.size() * sizeof(uint16_t));
    std::memcpy(image->at(begin), borders.data(), borders.size() * sizeof(uint16_t));
    image->header().nulls_at = begin;
    image->header().null_ranges = static_cast<uint32_t>(borders.size() / 2);
    return;
  }
  const uint32_t begin = image->add_section(selection_words(count) * sizeof(uint64_t));
  auto* words = reinterpret_cast<uint64_t*>(image->at(begin));
  for (uint32_t i = 0; i < count; ++i) words[i / 64] |= uint64_t{positions.nulls[i]} << (i % 64);
  image->header().nulls_at = begin;
}

constexpr size_t kSlotEntriesMin = 1024;  // fewer are compared at once

struct NumberHash {
  size_t operator()(__int128 number) const {
    return absl::HashOf(static_cast<uint64_t>(number), static_cast<uint64_t>(number >> 64));
  }
};

// int64, or __int128 for cells of 128 bits.
template <typename Number>
class NumberEncoder {
 public:
  NumberEncoder(const FrozenSource& source, const FreezeOptions& options, VectorImage* image)
      : source_(source), options_(options), image_(image) {}

  void encode(const Positions& positions) {
    read(positions);
    measure(positions);
    const uint32_t runs = count_runs(numbers_);
    range_ = static_cast<unsigned __int128>(max_) - static_cast<unsigned __int128>(min_);
    bits_ = range_ >> 64 != 0 ? 128 : bits_of(static_cast<uint64_t>(range_));
    Chooser chooser(options_, source_.count);
    if (range_ == 0) {
      chooser.offer(FrozenScheme::kConstant, false, false, 1, 0);
    } else {
      offer_without_dictionary(numbers_.size(), false, &chooser);
      offer_without_dictionary(runs, true, &chooser);
      if (find_distinct(distinct_max(runs, chooser))) {
        offer_dictionary(numbers_.size(), false, &chooser);
        offer_dictionary(runs, true, &chooser);
      }
    }
    const Choice choice = chooser.best();
    if (choice.runs) {
      const std::vector<uint16_t> ends = find_run_ends(numbers_);
      numbers_ = take_runs(numbers_, ends);
      image_->add_run_ends(ends);
    }
    write(choice.scheme);
  }

 private:
  static constexpr uint32_t kMappedMax = 1
                                         << 20;  // range of values that a bit map of 128 KB finds the distinct ones of

  template <CellKind kKind>
  void read_cells() {
    const char* cell = cell_of(source_.access, source_.chunk, 0);
    for (uint32_t i = 0; i < source_.count; ++i, cell += source_.access.value_stride) {
      numbers_[i] = static_cast<Number>(number_of_cell(kKind, cell));
    }
  }

  void read(const Positions& positions) {
    numbers_.resize(source_.count);
    switch (source_.access.kind) {
      case CellKind::kBool:
        read_cells<CellKind::kBool>();
        break;
      case CellKind::kInt16:
        read_cells<CellKind::kInt16>();
        break;
      case CellKind::kInt32:
        read_cells<CellKind::kInt32>();
        break;
      case CellKind::kFloat64:
        read_cells<CellKind::kFloat64>();
        break;
      case CellKind::kInt128:
        read_cells<CellKind::kInt128>();
        break;
      default:
        read_cells<CellKind::kInt64>();
    }
    if (positions.all) return;
    Number last = positions.first < source_.count ? numbers_[positions.first] : 0;
    for (uint32_t i = 0; i < source_.count; ++i) {
      if (positions.matters[i] != 0) last = numbers_[i];
      numbers_[i] = last;
    }
  }

  void measure(const Positions& positions) {
    min_ = max_ = numbers_[0];
    for (const Number& number : numbers_) {
      min_ = std::min(min_, number);
      max_ = std::max(max_, number);
    }
    FrozenHeader& head = image_->header();
    head.has_bounds = positions.first < source_.count ? 1 : 0;
    put_int128(min_, head.min);
    put_int128(max_, head.max);
    const CellKind kind = source_.access.kind;
    if (kind == CellKind::kFloat64 || kind == CellKind::kBool || head.has_bounds == 0) return;
    __int128 sum = 0;
    if (!add_up(positions, &sum)) return;
    head.has_sum = 1;
    put_int128(sum, head.sum);
  }

  // False: overflow.
  bool add_up(const Positions& positions, __int128* sum) const {
    constexpr int64_t kSmall = INT64_MAX / kChunkTuples;
    if (min_ >= -kSmall && max_ <= kSmall) {
      int64_t small = 0;
      for (uint32_t i = 0; i < source_.count; ++i) {
        small += positions.matters[i] != 0 ? static_cast<int64_t>(numbers_[i]) : 0;
      }
      *sum = small;
      return true;
    }
    bool overflows = false;
    for (uint32_t i = 0; i < source_.count; ++i) {
      if (positions.matters[i] != 0) overflows |= __builtin_add_overflow(*sum, __int128{numbers_[i]}, sum);
    }
    return !overflows;
  }

  // With more distinct values than that a dictionary is worse than the best of what has been offered.
  uint64_t distinct_max(uint32_t runs, const Chooser& chooser) const {
    uint64_t most = 0;
    for (uint32_t bits = 1; (uint64_t{1} << (bits - 1)) < source_.count; ++bits) {
      for (const bool as_runs : {false, true}) {
        const uint64_t entries = as_runs ? runs : numbers_.size();
        const double left = chooser.best().score -
                            chooser.score(FrozenScheme::kDictionary, as_runs, entries, packed_bytes(entries, bits));
        if (left <= 0) continue;
        const double fit = std::min(left / source_.access.cell_bytes, static_cast<double>(uint64_t{1} << bits));
        most = std::max(most, static_cast<uint64_t>(fit));
      }
    }
    return most;
  }

  // False: there are more than `max`.
  bool find_distinct(uint64_t max) {
    if (max == 0) return false;
    if (range_ < kMappedMax) return find_mapped(max);
    absl::flat_hash_set<Number, NumberHash> numbers;
    for (size_t i = 0; i < numbers_.size(); ++i) {
      if (i > 0 && numbers_[i] == numbers_[i - 1]) continue;
      numbers.insert(numbers_[i]);
      if (numbers.size() > max) return false;
    }
    distinct_.assign(numbers.begin(), numbers.end());
    std::sort(distinct_.begin(), distinct_.end());
    return true;
  }

  bool find_mapped(uint64_t max) {
    map_.resize(static_cast<size_t>(range_) / 64 + 1);
    for (const Number& number : numbers_) {
      const uint64_t bit = distance(number);
      map_[bit / 64] |= uint64_t{1} << (bit % 64);
    }
    uint64_t count = 0;
    for (const uint64_t word : map_) count += static_cast<uint64_t>(std::popcount(word));
    if (count > max) return false;
    for (size_t i = 0; i < map_.size(); ++i) {
      for (uint64_t word = map_[i]; word != 0; word &= word - 1) {
        distinct_.push_back(min_ + static_cast<Number>(i * 64 + static_cast<uint64_t>(std::countr_zero(word))));
      }
    }
    return true;
  }

  uint64_t distance(const Number& number) const { return static_cast<uint64_t>(number) - static_cast<uint64_t>(min_); }
  // The number of each value among the distinct ones.
  std::vector<uint64_t> ranks() const {
    std::vector<uint64_t> codes(numbers_.size());
    if (map_.empty()) {
      for (size_t i = 0; i < numbers_.size(); ++i) {
        const auto found = std::lower_bound(distinct_.begin(), distinct_.end(), numbers_[i]);
        codes[i] = static_cast<uint64_t>(found - distinct_.begin());
      }
      return codes;
    }
    std::vector<uint64_t> before(map_.size());  // distinct values in front of each word
    for (size_t i = 1; i < map_.size(); ++i) {
      before[i] = before[i - 1] + static_cast<uint64_t>(std::popcount(map_[i - 1]));
    }
    for (size_t i = 0; i < numbers_.size(); ++i) {
      const uint64_t bit = distance(numbers_[i]);
      const uint64_t below = map_[bit / 64] & ((uint64_t{1} << (bit % 64)) - 1);
      codes[i] = before[bit / 64] + static_cast<uint64_t>(std::popcount(below));
    }
    return codes;
  }

  void offer_without_dictionary(uint64_t entries, bool runs, Chooser* chooser) {
    chooser->offer(FrozenScheme::kPlain, runs, false, entries, entries * source_.access.cell_bytes);
    if (bits_ <= kMaxPackedBits) {
      chooser->offer(FrozenScheme::kPacked, runs, false, entries, packed_bytes(entries, bits_));
    }
  }
  void offer_dictionary(uint64_t entries, bool runs, Chooser* chooser) {
    chooser->offer(FrozenScheme::kDictionary, runs, false, entries,
                   distinct_.size() * source_.access.cell_bytes + packed_bytes(entries, bits_of(distinct_.size() - 1)));
  }

  void write_cells(const std::vector<Number>& numbers) {
    const uint32_t width = source_.access.cell_bytes;
    image_->header().values_at = image_->add_section(numbers.size() * width);
    char* cell = image_->at(image_->header().values_at);
    for (const Number& number : numbers) {
      const bool is_float = source_.access.kind == CellKind::kFloat64;
      const __int128 bits = is_float ? __int128{order_key(static_cast<int64_t>(number))} : __int128{number};
      uint64_t words[2];
      put_int128(bits, words);
      std::memcpy(cell, words, width);
      cell += width;
    }
  }

  void write(FrozenScheme scheme) {
    FrozenHeader& head = image_->header();
    head.scheme = scheme;
    head.entries = static_cast<uint32_t>(numbers_.size());
    if (scheme == FrozenScheme::kConstant || scheme == FrozenScheme::kPacked) put_int128(min_, head.reference);
    if (scheme == FrozenScheme::kPlain) return write_cells(numbers_);
    if (scheme == FrozenScheme::kConstant) return;
    if (scheme == FrozenScheme::kPacked) {
      std::vector<uint64_t> codes(numbers_.size());
      for (size_t i = 0; i < numbers_.size(); ++i) codes[i] = distance(numbers_[i]);
      return image_->add_codes(codes, bits_);
    }
    head.values = static_cast<uint32_t>(distinct_.size());
    write_cells(distinct_);
    image_->add_codes(ranks(), bits_of(distinct_.size() - 1));
  }

  const FrozenSource& source_;
  const FreezeOptions& options_;
  VectorImage* const image_;
  std::vector<Number> numbers_;
  std::vector<Number> distinct_;  // in order
  std::vector<uint64_t> map_;     // which are there, by distance(); empty: it would be too large
  Number min_ = 0;
  Number max_ = 0;
  unsigned __int128 range_ = 0;
  uint32_t bits_ = 0;
};

}  // namespace

// Right before the codes, where looking up by it leaves out half of them on the mean.
void VectorImage::add_slots(const std::vector<uint64_t>& codes, uint32_t bits) {
  const uint32_t slot_bits = std::min(bits, kSlotBitsMax);
  if (slot_bits == 0 || codes.size() < kSlotEntriesMin) return;
  std::array<uint16_t, size_t{2} << kSlotBitsMax> slots{};
  for (size_t i = 0; i < codes.size(); ++i) {
    uint16_t* slot = &slots[2 * (codes[i] >> (bits - slot_bits))];
    if (slot[1] == 0) slot[0] = static_cast<uint16_t>(i);
    slot[1] = static_cast<uint16_t>(i + 1);
  }
  size_t used = 0, looked_at = 0;
  for (size_t i = 0; i < size_t{2} << slot_bits; i += 2) {
    used += slots[i + 1] != 0 ? 1 : 0;
    looked_at += slots[i + 1] - slots[i];
  }
  if (looked_at * 2 > used * codes.size()) return;
  const uint32_t begin = add_section(slots_bytes(slot_bits));
  std::memcpy(at(begin), slots.data(), slots_bytes(slot_bits));
  header().slot_bits = static_cast<uint8_t>(slot_bits);
}

void freeze_vector(const FrozenSource& source, const FreezeOptions& options, std::string* out) {
  CHECK(can_freeze(source.access.kind));
  VectorImage image(source, out);
  const Positions positions = find_positions(source);
  add_nulls(positions, &image);
  if (holds_text(source.access.kind)) {
    encode_texts(source, options, positions, &image);
  } else if (source.access.kind == CellKind::kInt128) {
    NumberEncoder<__int128>(source, options, &image).encode(positions);
  } else {
    NumberEncoder<int64_t>(source, options, &image).encode(positions);
  }
  image.finish();
}

}  // namespace scyper::storage
