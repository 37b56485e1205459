#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "base/check.h"
#include "bit_packing.h"
#include "frozen_interval.h"
#include "storage/frozen_vector.h"

// Conditions evaluated on codes and runs.
namespace scyper::storage {

void set_selection(uint64_t* selection, uint32_t begin, uint32_t end) noexcept {
  if (begin >= end) return;
  const uint32_t first = begin / 64, last = (end - 1) / 64;
  const uint64_t head = ~uint64_t{0} << (begin % 64);
  const uint64_t tail = ~uint64_t{0} >> (63 - (end - 1) % 64);
  if (first == last) {
    selection[first] |= head & tail;
    return;
  }
  selection[first] |= head;
  for (uint32_t i = first + 1; i < last; ++i) selection[i] = ~uint64_t{0};
  selection[last] |= tail;
}

void clear_selection(uint64_t* selection, uint32_t begin, uint32_t end) noexcept {
  if (begin >= end) return;
  const uint32_t first = begin / 64, last = (end - 1) / 64;
  const uint64_t head = ~uint64_t{0} << (begin % 64);
  const uint64_t tail = ~uint64_t{0} >> (63 - (end - 1) % 64);
  if (first == last) {
    selection[first] &= ~(head & tail);
    return;
  }
  selection[first] &= ~head;
  for (uint32_t i = first + 1; i < last; ++i) selection[i] = 0;
  selection[last] &= ~tail;
}

uint32_t selected_positions(const uint64_t* selection, uint32_t count, uint32_t* positions) noexcept {
  uint32_t found = 0;
  for (uint32_t word = 0; word < selection_words(count); ++word) {
    for (uint64_t bits = selection[word]; bits != 0; bits &= bits - 1) {
      positions[found++] = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
    }
  }
  return found;
}

namespace {

constexpr uint32_t kBlock = 256;  // a multiple of 64

// Bytes of 0 and 1 to bits.
void put_flags(const uint8_t* flags, uint32_t count, uint64_t* words) {
  for (uint32_t i = 0; i < count; i += 64, ++words) {
    uint64_t bits = 0;
    for (uint32_t j = 0; j < 64; j += 8) {
      uint64_t eight;
      std::memcpy(&eight, flags + i + j, sizeof(eight));
      bits |= ((eight * 0x0102040810204080ull) >> 56) << j;
    }
    *words = bits;
  }
}

// flags[i] = low <= values[i] <= low + span; one comparison, without branches.
template <typename T>
void flag_between(const T* values, uint32_t count, T low, T span, uint8_t* flags) {
  for (uint32_t i = 0; i < count; ++i) flags[i] = static_cast<T>(values[i] - low) <= span ? 1 : 0;
}

}  // namespace

class FrozenSelection {
 public:
  FrozenSelection(const FrozenVector& vector, const FrozenPredicate& predicate)
      : vector_(vector), head_(vector.header()), predicate_(predicate) {}

  // Of numbers. False: cannot tell.
  bool find_interval() {
    const bool is_float = head_.kind == CellKind::kFloat64;
    // NaNs with a sign are below all in order of keys, above all in SQL
    if (is_float && head_.has_bounds != 0 &&
        to_int128(head_.min) < key_of_double(-std::numeric_limits<double>::infinity())) {
      return false;
    }
    interval_ = interval_of(is_float, predicate_);
    return true;
  }
  bool covers_nothing() const {
    return head_.has_bounds == 0 || interval_.is_empty() || interval_.high < to_int128(head_.min) ||
           interval_.low > to_int128(head_.max);
  }
  bool covers_all() const { return interval_.low <= to_int128(head_.min) && interval_.high >= to_int128(head_.max); }

  // Values [*begin, *end) of a sorted list of texts.
  void find_texts(uint32_t* begin, uint32_t* end) const {
    const StringRef low = bytes_of(predicate_.low), high = bytes_of(predicate_.high);
    *begin = 0;
    *end = head_.values;
    if (predicate_.kind == FrozenPredicate::Kind::kPrefix) {
      *begin = first_value([&](StringRef text) { return compare_prefix(text, low) >= 0; });
      *end = first_value([&](StringRef text) { return compare_prefix(text, low) > 0; });
      return;
    }
    if (predicate_.low.null == 0) {
      const int least = predicate_.low_included ? 0 : 1;
      *begin = first_value([&](StringRef text) { return compare_texts(head_.type, text, low) >= least; });
    }
    if (predicate_.high.null == 0) {
      const int beyond = predicate_.high_included ? 1 : 0;
      *end = first_value([&](StringRef text) { return compare_texts(head_.type, text, high) >= beyond; });
    }
    *end = std::max(*begin, *end);
  }

  // Whether texts in the type's order that begin with the prefix are neighbours.
  bool prefix_is_range() const {
    if (predicate_.kind != FrozenPredicate::Kind::kPrefix || head_.type != TypeId::kChar) return true;
    const StringRef prefix = bytes_of(predicate_.low);
    return prefix.size == 0 || prefix.data[prefix.size - 1] != ' ';
  }

  bool matches(StringRef text) const {
    const StringRef low = bytes_of(predicate_.low);
    if (predicate_.kind == FrozenPredicate::Kind::kPrefix) {
      return text.size >= low.size && (low.size == 0 || std::memcmp(text.data, low.data, low.size) == 0);
    }
    if (predicate_.low.null == 0) {
      const int order = compare_texts(head_.type, text, low);
      if (order < 0 || (order == 0 && !predicate_.low_included)) return false;
    }
    if (predicate_.high.null != 0) return true;
    const int order = compare_texts(head_.type, text, bytes_of(predicate_.high));
    return order < 0 || (order == 0 && predicate_.high_included);
  }

  void select_numbers(uint64_t* entries) const {
    switch (head_.scheme) {
      case FrozenScheme::kConstant:
        if (matches_number(to_int128(head_.reference))) set_selection(entries, 0, head_.entries);
        return;
      case FrozenScheme::kPacked: {
        const __int128 reference = to_int128(head_.reference);
        const __int128 code_max = (__int128{1} << head_.code_bits) - 1;
        const __int128 low = std::max<__int128>(interval_.low, reference) - reference;
        const __int128 high = std::min<__int128>(interval_.high, reference + code_max) - reference;
        return select_codes(static_cast<uint64_t>(low), static_cast<uint64_t>(high) + 1, entries);
      }
      case FrozenScheme::kDictionary: {
        const auto value_below = [&](__int128 bound) {
          uint32_t begin = 0, end = head_.values;
          while (begin < end) {
            const uint32_t middle = (begin + end) / 2;
            const char* cell = vector_.at(head_.values_at) + uint64_t{middle} * head_.cell_bytes;
            if (number_of_cell(head_.kind, cell) < bound) {
              begin = middle + 1;
            } else {
              end = middle;
            }
          }
          return begin;
        };
        const uint32_t begin = value_below(interval_.low);
        const uint32_t end = interval_.high == kMaxNumber ? head_.values : value_below(interval_.high + 1);
        return select_codes(begin, end, entries);
      }
      case FrozenScheme::kPlain:
        return select_plain(entries);
    }
  }

  void select_texts(uint64_t* entries) const {
    uint8_t flags[kBlock];
    if (head_.scheme == FrozenScheme::kPlain) {
      for (uint32_t done = 0; done < head_.entries; done += kBlock) {
        const uint32_t block = start_block(done, flags);
        for (uint32_t i = 0; i < block; ++i) flags[i] = matches(vector_.text(done + i)) ? 1 : 0;
        put_flags(flags, block, entries + done / 64);
      }
      return;
    }
    if (head_.scheme == FrozenScheme::kConstant) {
      if (matches(vector_.text(0))) set_selection(entries, 0, head_.entries);
      return;
    }
    if (prefix_is_range()) {
      uint32_t begin, end;
      find_texts(&begin, &end);
      return select_codes(begin, end, entries);
    }
    std::vector<uint8_t> wanted(head_.values);
    for (uint32_t i = 0; i < head_.values; ++i) wanted[i] = matches(vector_.text(i)) ? 1 : 0;
    uint32_t codes[kBlock];
    for (uint32_t done = 0; done < head_.entries; done += kBlock) {
      const uint32_t block = start_block(done, flags);
      unpack(vector_.at(head_.codes_at), done, block, head_.code_bits, codes);
      for (uint32_t i = 0; i < block; ++i) flags[i] = wanted[codes[i]];
      put_flags(flags, block, entries + done / 64);
    }
  }

 private:
  bool matches_number(__int128 number) const { return interval_.low <= number && number <= interval_.high; }

  template <typename Match>
  uint32_t first_value(Match match) const {
    uint32_t begin = 0, end = head_.values;
    while (begin < end) {
      const uint32_t middle = (begin + end) / 2;
      if (match(vector_.text(middle))) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    return begin;
  }

  int compare_prefix(StringRef text, StringRef prefix) const {
    if (head_.type == TypeId::kChar) text = trim_blanks(text);
    return compare_strings({text.data, std::min(text.size, prefix.size)}, prefix);
  }

  // Flags beyond the block's end are 0.
  static uint32_t start_block(uint32_t done, uint32_t end, uint8_t* flags) {
    const uint32_t block = std::min(kBlock, end - done);
    if (block < kBlock) std::memset(flags, 0, kBlock);
    return block;
  }
  uint32_t start_block(uint32_t done, uint8_t* flags) const { return start_block(done, head_.entries, flags); }

  struct Entries {
    uint32_t begin;  // a multiple of 64
    uint32_t end;
  };
  // Among which all codes of [low, high] lie.
  Entries look_up(uint64_t low, uint64_t high) const {
    if (head_.slot_bits == 0) return {0, head_.entries};
    const uint32_t below = head_.code_bits - head_.slot_bits;
    const uint16_t* slots = position_slots(head_);
    Entries found{head_.entries, 0};
    const uint64_t last = std::min(high >> below, (uint64_t{1} << head_.slot_bits) - 1);
    for (uint64_t slot = low >> below; slot <= last; ++slot) {
      const uint32_t begin = slots[2 * slot], end = slots[2 * slot + 1];
      if (begin >= end) continue;
      found.begin = std::min(found.begin, begin / 64 * 64);
      found.end = std::max(found.end, std::min(end, head_.entries));
    }
    return found;
  }

  // Entries whose code is in [begin, end).
  void select_codes(uint64_t begin, uint64_t end, uint64_t* entries) const {
    if (begin >= end) return;
    const Entries among = look_up(begin, end - 1);
    if (among.begin >= among.end) return;
    uint8_t flags[kBlock];
    const char* packed = vector_.at(head_.codes_at);
    uint32_t done = among.begin;
    if (head_.code_bits <= kMaxEightsBits) {
      done += select_eights(packed_codes(head_), done, among.end - done, static_cast<uint32_t>(begin),
                            static_cast<uint32_t>(end - 1 - begin), entries + done / 64);
    }
    for (; done < among.end; done += kBlock) {
      const uint32_t block = start_block(done, among.end, flags);
      if (head_.code_bits <= 32) {
        uint32_t codes[kBlock];
        unpack(packed, done, block, head_.code_bits, codes);
        flag_between(codes, block, static_cast<uint32_t>(begin), static_cast<uint32_t>(end - 1 - begin), flags);
      } else {
        uint64_t codes[kBlock];
        unpack(packed, done, block, head_.code_bits, codes);
        flag_between(codes, block, begin, end - 1 - begin, flags);
      }
      put_flags(flags, block, entries + done / 64);
    }
  }

  template <typename T>
  void select_cells(uint64_t* entries) const {
    const auto low = static_cast<T>(std::max<__int128>(interval_.low, to_int128(head_.min)));
    const auto high = static_cast<T>(std::min<__int128>(interval_.high, to_int128(head_.max)));
    uint8_t flags[kBlock];
    T values[kBlock];
    for (uint32_t done = 0; done < head_.entries; done += kBlock) {
      const uint32_t block = start_block(done, flags);
      std::memcpy(values, vector_.at(head_.values_at) + uint64_t{done} * sizeof(T), block * sizeof(T));
      flag_between(values, block, low, static_cast<T>(high - low), flags);
      put_flags(flags, block, entries + done / 64);
    }
  }

  void select_plain(uint64_t* entries) const {
    switch (head_.kind) {
      case CellKind::kBool:
        return select_cells<uint8_t>(entries);
      case CellKind::kInt16:
        return select_cells<uint16_t>(entries);
      case CellKind::kInt32:
        return select_cells<uint32_t>(entries);
      case CellKind::kInt64:
        return select_cells<uint64_t>(entries);
      default:
        break;
    }
    uint8_t flags[kBlock];
    for (uint32_t done = 0; done < head_.entries; done += kBlock) {
      const uint32_t block = start_block(done, flags);
      for (uint32_t i = 0; i < block; ++i) flags[i] = matches_number(vector_.number(done + i)) ? 1 : 0;
      put_flags(flags, block, entries + done / 64);
    }
  }

  const FrozenVector& vector_;
  const FrozenHeader& head_;
  const FrozenPredicate& predicate_;
  Interval interval_{};
};

namespace {

bool is_number(const FrozenHeader& head) { return !holds_text(head.kind); }

// Ranges need SQL's order, which images of these types do not have.
bool has_order(const FrozenHeader& head) {
  return head.kind != CellKind::kDecimal && kept_as(head.type) != TypeId::kJsonb;
}

void clear_nulls(const FrozenHeader& head, const char* nulls, uint64_t* selection) {
  if (head.null_form == NullForm::kAll) clear_selection(selection, 0, head.count);
  if (head.null_form == NullForm::kRanges) {
    for_each_null_range(head, nulls, 0, head.count,
                        [&](uint32_t begin, uint32_t end) { clear_selection(selection, begin, end); });
  }
  if (head.null_form != NullForm::kBits) return;
  const auto* words = reinterpret_cast<const uint64_t*>(nulls);
  for (uint32_t i = 0; i < selection_words(head.count); ++i) selection[i] &= ~words[i];
}

}  // namespace

bool FrozenVector::select(const FrozenPredicate& predicate, uint64_t* selection) const {
  const FrozenHeader& head = header();
  std::memset(selection, 0, selection_words(head.count) * sizeof(uint64_t));
  if (predicate.kind == FrozenPredicate::Kind::kIsNull || predicate.kind == FrozenPredicate::Kind::kIsNotNull) {
    set_selection(selection, 0, head.count);
    clear_nulls(head, at(head.nulls_at), selection);
    if (predicate.kind == FrozenPredicate::Kind::kIsNotNull) return true;
    for (uint32_t i = 0; i < selection_words(head.count); ++i) selection[i] = ~selection[i];
    if (head.count % 64 != 0) selection[head.count / 64] &= (uint64_t{1} << (head.count % 64)) - 1;
    return true;
  }
  if (!has_order(head) || (predicate.kind == FrozenPredicate::Kind::kPrefix && is_number(head))) return false;
  FrozenSelection wanted(*this, predicate);
  if (is_number(head)) {
    if (!wanted.find_interval()) return false;
    if (wanted.covers_nothing()) return true;
  }
  std::vector<uint64_t> runs;
  uint64_t* entries = selection;
  if (head.has_runs != 0) {
    runs.resize(selection_words(head.entries));
    entries = runs.data();
  }
  if (is_number(head) && wanted.covers_all()) {
    set_selection(entries, 0, head.entries);
  } else if (is_number(head)) {
    wanted.select_numbers(entries);
  } else if (head.has_bounds != 0) {
    wanted.select_texts(entries);
  }
  for (uint32_t word = 0; word < runs.size(); ++word) {
    for (uint64_t bits = runs[word]; bits != 0; bits &= bits - 1) {
      const uint32_t run = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
      set_selection(selection, run == 0 ? 0 : run_ends()[run - 1], run_ends()[run]);
    }
  }
  clear_nulls(head, at(head.nulls_at), selection);
  return true;
}

bool FrozenVector::can_skip(const FrozenPredicate& predicate) const {
  const FrozenHeader& head = header();
  if (predicate.kind == FrozenPredicate::Kind::kIsNull) return head.null_count == 0;
  if (head.has_bounds == 0 && head.kind != CellKind::kDecimal) return true;  // nothing but NULLs
  if (predicate.kind == FrozenPredicate::Kind::kIsNotNull || !has_order(head)) return false;
  FrozenSelection wanted(*this, predicate);
  if (is_number(head)) return wanted.find_interval() && wanted.covers_nothing();
  if (head.scheme == FrozenScheme::kPlain || !wanted.prefix_is_range()) return false;
  uint32_t begin, end;
  wanted.find_texts(&begin, &end);
  return begin == end;
}

bool FrozenVector::holds_for_all(const FrozenPredicate& predicate) const {
  const FrozenHeader& head = header();
  const bool has_values = head.has_bounds != 0;
  if (predicate.kind == FrozenPredicate::Kind::kIsNull) return !has_values && head.kind != CellKind::kDecimal;
  if (head.null_count != 0) return false;
  if (predicate.kind == FrozenPredicate::Kind::kIsNotNull) return true;
  if (!has_values || !is_number(head) || head.kind == CellKind::kFloat64) return false;
  FrozenSelection wanted(*this, predicate);
  return wanted.find_interval() && wanted.covers_all();
}

}  // namespace scyper::storage
