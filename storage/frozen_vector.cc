#include "storage/frozen_vector.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "bit_packing.h"
#include "frozen_entry.h"
#include "frozen_format.h"
#include "storage/relation_dictionary.h"

namespace scyper::storage {
namespace {

// Entries that are decoded at once: codes and values stay in the first-level cache.
constexpr uint32_t kBlock = 256;

void float_keys_to_cells(int64_t* cells, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) cells[i] = order_key(cells[i]);
}

}  // namespace

uint32_t FrozenVector::entry_of(uint32_t position) const noexcept { return find_entry(header(), position); }

uint32_t FrozenVector::value_of(uint32_t entry) const noexcept {
  const FrozenHeader& head = header();
  if (head.scheme == FrozenScheme::kDictionary) {
    return static_cast<uint32_t>(unpack_one(at(head.codes_at), entry, head.code_bits));
  }
  return head.scheme == FrozenScheme::kConstant ? 0 : entry;
}

bool lies_within(const FrozenHeader& header, uint32_t values_at, uint64_t bytes) {
  const auto is_there = [bytes](uint32_t at, uint64_t size) {
    return size == 0 || (at >= sizeof(FrozenHeader) && at <= bytes && size <= bytes - at);
  };
  if (header.count > kChunkTuples || header.entries > header.count) return false;
  uint64_t nulls = 0;
  if (header.null_form == NullForm::kRanges) nulls = uint64_t{header.null_ranges} * 2 * sizeof(uint16_t);
  if (header.null_form == NullForm::kBits) nulls = selection_words(header.count) * sizeof(uint64_t);
  if (!is_there(header.nulls_at, nulls)) return false;
  if (header.has_runs != 0 && !is_there(header.run_ends_at, header.entries * sizeof(uint16_t))) return false;
  if (has_codes(header)) {
    const bool has_slots = header.slot_bits <= std::min<uint32_t>(header.code_bits, kSlotBitsMax);
    if (header.code_bits > kMaxPackedBits || !has_slots) return false;
    if (!is_there(header.codes_at, packed_bytes(header.entries, header.code_bits))) return false;
    if (header.codes_at < sizeof(FrozenHeader) + slots_bytes(header.slot_bits)) return false;
  }
  if (holds_text(header.kind)) {
    const uint64_t borders = header.has_shared_text != 0 ? header.values : uint64_t{header.values} + 1;
    return is_there(values_at, borders * value_bytes(header));
  }
  if (header.scheme == FrozenScheme::kPlain) return is_there(values_at, header.entries * value_bytes(header));
  return header.scheme != FrozenScheme::kDictionary || is_there(values_at, header.values * value_bytes(header));
}

StringRef FrozenVector::text(uint32_t value) const noexcept {
  const FrozenHeader& head = header();
  const auto* numbers = reinterpret_cast<const uint32_t*>(at(head.values_at));
  if (head.has_shared_text != 0) return dictionary_->text(numbers[value]);
  const char* bytes = reinterpret_cast<const char*>(numbers + head.values + 1);
  return {bytes + numbers[value], numbers[value + 1] - numbers[value]};
}

__int128 FrozenVector::number(uint32_t entry) const noexcept {
  const FrozenHeader& head = header();
  if (head.scheme == FrozenScheme::kConstant) return to_int128(head.reference);
  if (head.scheme == FrozenScheme::kPacked) {
    return to_int128(head.reference) + unpack_one(at(head.codes_at), entry, head.code_bits);
  }
  const char* cell = at(head.values_at) + uint64_t{value_of(entry)} * head.cell_bytes;
  return number_of_cell(head.kind, cell);
}

bool FrozenVector::is_null(uint32_t position) const noexcept {
  const FrozenHeader& head = header();
  CHECK(position < head.count);
  switch (head.null_form) {
    case NullForm::kNone:
      return false;
    case NullForm::kAll:
      return true;
    case NullForm::kBits:
      return ((reinterpret_cast<const uint64_t*>(at(head.nulls_at))[position / 64] >> (position % 64)) & 1) != 0;
    case NullForm::kRanges:
      break;
  }
  const auto* borders = reinterpret_cast<const uint16_t*>(at(head.nulls_at));
  // begins at even places, ends at odd ones: an odd number of borders at or before it is inside of a range
  const auto* behind = std::upper_bound(borders, borders + 2 * size_t{head.null_ranges}, position);
  return (behind - borders) % 2 == 1;
}

Datum FrozenVector::get(uint32_t position) const noexcept {
  if (is_null(position)) return null_datum();
  const FrozenHeader& head = header();
  const uint32_t entry = entry_of(position);
  if (holds_text(head.kind)) {
    const StringRef found = text(value_of(entry));
    if (head.kind != CellKind::kDecimal) return string_datum(found.data, found.size);
    return int128_datum(to_int128(found.data), load_cell<int32_t>(found.data + 16));
  }
  return number_datum(head, number(entry));
}

void FrozenVector::decode_nulls(uint32_t first, uint32_t count, uint8_t* nulls) const noexcept {
  const FrozenHeader& head = header();
  CHECK(first <= head.count && count <= head.count - first);
  if (count == 0) return;
  std::memset(nulls, head.null_form == NullForm::kAll ? 1 : 0, count);
  if (head.null_form == NullForm::kBits) {
    const auto* words = reinterpret_cast<const uint64_t*>(at(head.nulls_at));
    for (uint32_t i = 0; i < count; ++i) {
      nulls[i] = static_cast<uint8_t>((words[(first + i) / 64] >> ((first + i) % 64)) & 1);
    }
  }
  if (head.null_form != NullForm::kRanges) return;
  for_each_null_range(head, at(head.nulls_at), first, first + count,
                      [&](uint32_t begin, uint32_t end) { std::memset(nulls + begin - first, 1, end - begin); });
}

template <typename T>
void FrozenVector::decode_entries(uint32_t first, uint32_t count, T* out) const noexcept {
  const FrozenHeader& head = header();
  const auto reference = to_cell<T>(to_int128(head.reference));
  if (head.scheme == FrozenScheme::kPlain) {
    std::memcpy(out, at(head.values_at) + uint64_t{first} * sizeof(T), count * sizeof(T));
  } else if (head.scheme == FrozenScheme::kConstant) {
    std::fill_n(out, count, reference);
  } else if (head.scheme == FrozenScheme::kDictionary) {
    const T* values = reinterpret_cast<const T*>(at(head.values_at));
    uint32_t codes[kBlock];
    for (uint32_t done = 0; done < count; done += kBlock) {
      const uint32_t block = std::min(kBlock, count - done);
      decode_codes(first + done, block, codes);
      for (uint32_t i = 0; i < block; ++i) out[done + i] = values[codes[i]];
    }
  } else if (head.code_bits <= 32) {
    uint32_t begin = 0;
    if constexpr (std::is_signed_v<T>) begin = unpack_eights(packed_codes(head), first, count, reference, out);
    uint32_t codes[kBlock];
    for (uint32_t done = begin; done < count; done += kBlock) {
      const uint32_t block = std::min(kBlock, count - done);
      unpack(at(head.codes_at), first + done, block, head.code_bits, codes);
      for (uint32_t i = 0; i < block; ++i) out[done + i] = add_code(reference, codes[i]);
    }
  } else {
    uint64_t codes[kBlock];
    for (uint32_t done = 0; done < count; done += kBlock) {
      const uint32_t block = std::min(kBlock, count - done);
      unpack(at(head.codes_at), first + done, block, head.code_bits, codes);
      for (uint32_t i = 0; i < block; ++i) out[done + i] = add_code(reference, codes[i]);
    }
  }
}

namespace {

// Most runs are short (the lines of an order), and how short cannot be predicted: so many cells are written of each,
// and those behind it again by the next ones. `left`: cells that there are.
template <typename T>
inline void put_run(T value, uint32_t length, uint32_t left, T* out) {
  constexpr uint32_t kAtOnce = sizeof(T) <= 8 ? 16 : 4;
  if (left < kAtOnce) {
    std::fill_n(out, length, value);
    return;
  }
  std::fill_n(out, kAtOnce, value);
  if (length > kAtOnce) std::fill(out + kAtOnce, out + length, value);
}

}  // namespace

template <typename T>
void FrozenVector::decode_numbers(uint32_t first, uint32_t count, T* out) const noexcept {
  const FrozenHeader& head = header();
  if (head.has_runs == 0) return decode_entries(first, count, out);
  const uint16_t* ends = run_ends();
  const uint32_t end = first + count;
  T values[kBlock];
  for (uint32_t run = entry_of(first); first < end;) {
    const uint32_t block = std::min({kBlock, head.entries - run, end - first});  // a run has a position at least
    decode_entries(run, block, values);
    for (uint32_t i = 0; i < block && first < end; ++i, ++run) {
      const uint32_t run_end = std::min<uint32_t>(ends[run], end);
      put_run(values[i], run_end - first, end - first, out);
      out += run_end - first;
      first = run_end;
    }
  }
}

namespace {

constexpr uint32_t kReferenceBytes = 16;  // of a cell that says where its text is

// At most 15 bytes, as two pieces that may overlap: a call of memcpy() takes longer.
inline void copy_few(const char* from, size_t size, char* to) {
  const auto copy_ends = [&]<typename Piece>(Piece) {
    const auto first = load_cell<Piece>(from), last = load_cell<Piece>(from + size - sizeof(Piece));
    save_cell(to, first);
    save_cell(to + size - sizeof(Piece), last);
  };
  if (size >= 8) return copy_ends(uint64_t{});
  if (size >= 4) return copy_ends(uint32_t{});
  if (size >= 2) return copy_ends(uint16_t{});
  if (size == 1) *to = *from;
}

// As store_string() writes it, but texts are not copied where the cell can say where they are instead: that takes a
// third of the time.
inline void write_text(CellKind kind, uint32_t cell_bytes, StringRef text, char* cell) {
  if (kind == CellKind::kDecimal) {
    std::memcpy(cell, text.data, text.size);
  } else if (kind == CellKind::kShortString) {
    if (cell_bytes < kReferenceBytes) {
      *cell = static_cast<char>(text.size);
      return copy_few(text.data, text.size, cell + 1);
    }
    const uint64_t size_and_form = uint64_t{text.size} << 32 | static_cast<uint8_t>(kShortStringInHeap);
    save_cell(cell, text.size == 0 ? uint64_t{0} : size_and_form);
    save_cell(cell + 8, text.data);
  } else {
    save_cell(cell, static_cast<uint32_t>(text.size));
    if (text.size <= kLongStringInline) return copy_few(text.data, text.size, cell + 4);
    std::memcpy(cell + 4, text.data, 4);
    save_cell(cell + 8, text.data);
  }
}

}  // namespace

// The numbers of the values of entries [first, first + count).
void FrozenVector::decode_codes(uint32_t first, uint32_t count, uint32_t* codes) const noexcept {
  const FrozenHeader& head = header();
  if (head.scheme == FrozenScheme::kDictionary) {
    const uint32_t done = unpack_eights(packed_codes(head), first, count, 0, reinterpret_cast<int32_t*>(codes));
    unpack(at(head.codes_at), first + done, count - done, head.code_bits, codes + done);
  } else {
    const uint32_t step = head.scheme == FrozenScheme::kConstant ? 0 : 1;
    for (uint32_t i = 0; i < count; ++i) codes[i] = (first + i) * step;
  }
}

namespace {

constexpr uint32_t kPreparedTexts = 256;

// The cells of positions [first, first + count), the first of which is of entry `entry`. codes_of(entry, count, codes)
// gives numbers of values, write(code, cell) a value's cell. `whole_until`: the last cell behind whose beginning there
// are kReferenceBytes to write to.
template <typename Codes, typename Write>
void spread_texts(const FrozenHeader& head, const uint16_t* ends, uint32_t entry, uint32_t first, uint32_t count,
                  char* cells, const char* whole_until, Codes codes_of, Write write) {
  const uint32_t stride = head.cell_bytes;
  const bool is_decimal = head.kind == CellKind::kDecimal;
  const uint32_t entries = head.entries;
  const uint32_t end = first + count;
  const bool has_runs = head.has_runs != 0;
  uint32_t codes[kBlock];
  char* out = cells;
  for (uint32_t position = first; position < end;) {
    const uint32_t block = std::min(kBlock, std::min(entries - entry, end - position));
    codes_of(entry, block, codes);
    if (!has_runs) {
      for (uint32_t i = 0; i < block; ++i, out += stride) write(codes[i], out);
      position += block;
      entry += block;
      continue;
    }
    for (uint32_t i = 0; i < block && position < end; ++i, ++entry) {
      const uint32_t run_end = std::min<uint32_t>(ends[entry], end);
      const char* cell = out;
      write(codes[i], out);
      char value[kReferenceBytes];  // of narrow cells more than one, which the next ones overwrite
      const bool is_whole = !is_decimal && cell <= whole_until;
      if (is_whole) std::memcpy(value, cell, kReferenceBytes);
      for (out += stride; ++position < run_end; out += stride) {
        if (is_whole && out <= whole_until) {
          std::memcpy(out, value, kReferenceBytes);
        } else {
          std::memcpy(out, cell, stride);
        }
      }
    }
  }
}

}  // namespace

void FrozenVector::decode_texts(uint32_t first, uint32_t count, char* cells) const noexcept {
  const FrozenHeader& head = header();
  const CellKind kind = head.kind;
  const uint32_t stride = head.cell_bytes;
  const bool is_dictionary = head.scheme == FrozenScheme::kDictionary;
  const bool is_shared = head.has_shared_text != 0;
  // a dictionary is read in no order: let its lines come in theirs
  if (is_dictionary && !is_shared && count >= head.values) {
    for (uint32_t line = head.values_at; line < head.bytes; line += 64) __builtin_prefetch(at(line));
  }
  const auto codes_of = [this](uint32_t entry, uint32_t block, uint32_t* codes) { decode_codes(entry, block, codes); };
  // what the loops below need of the header is in their own variables: the compiler takes a cell for a part of it
  const char* const whole_until = cells + uint64_t{count} * stride - kReferenceBytes;
  const auto spread = [&](auto write) {
    spread_texts(head, run_ends(), entry_of(first), first, count, cells, whole_until, codes_of, write);
  };
  const auto* numbers = reinterpret_cast<const uint32_t*>(at(head.values_at));
  const char* bytes = reinterpret_cast<const char*>(numbers + head.values + 1);
  if (is_dictionary && head.values <= std::min(kPreparedTexts, count) && stride >= kReferenceBytes &&
      kind != CellKind::kDecimal) {
    char prepared[kPreparedTexts * kReferenceBytes];
    std::memset(prepared, 0, head.values * kReferenceBytes);
    for (uint32_t i = 0; i < head.values; ++i) write_text(kind, stride, text(i), prepared + i * kReferenceBytes);
    spread([&prepared](uint32_t code, char* cell) {
      std::memcpy(cell, prepared + code * kReferenceBytes, kReferenceBytes);
    });
  } else if (is_shared) {
    const RelationDictionary* dictionary = dictionary_;
    spread([=](uint32_t code, char* cell) { write_text(kind, stride, dictionary->text(numbers[code]), cell); });
  } else if (kind == CellKind::kShortString && stride >= kReferenceBytes) {
    spread([=](uint32_t code, char* cell) {
      const StringRef own{bytes + numbers[code], numbers[code + 1] - numbers[code]};
      write_text(CellKind::kShortString, kReferenceBytes, own, cell);
    });
  } else if (kind == CellKind::kShortString) {
    // their own bytes and some of what follows, as mostly there is room for both
    const uint32_t readable = numbers[head.values];
    spread([=](uint32_t code, char* cell) {
      const uint32_t begin = numbers[code], size = numbers[code + 1] - begin;
      if (begin + kReferenceBytes > readable || cell > whole_until) {
        return write_text(CellKind::kShortString, stride, {bytes + begin, size}, cell);
      }
      *cell = static_cast<char>(size);
      std::memcpy(cell + 1, bytes + begin, kReferenceBytes - 1);
    });
  } else {
    spread([=](uint32_t code, char* cell) {
      write_text(kind, stride, {bytes + numbers[code], numbers[code + 1] - numbers[code]}, cell);
    });
  }
  for_each_null(head, at(head.nulls_at), first, first + count, [&](uint32_t position) {
    write_empty_cell(kind, cells + uint64_t{position - first} * stride, stride);
  });
}

void FrozenVector::decode(uint32_t first, uint32_t count, char* cells) const noexcept {
  const FrozenHeader& head = header();
  CHECK(first <= head.count && count <= head.count - first);
  if (count == 0) return;
  switch (head.kind) {
    case CellKind::kBool:
      return decode_numbers(first, count, reinterpret_cast<uint8_t*>(cells));
    case CellKind::kInt16:
      return decode_numbers(first, count, reinterpret_cast<int16_t*>(cells));
    case CellKind::kInt32:
      return decode_numbers(first, count, reinterpret_cast<int32_t*>(cells));
    case CellKind::kInt64:
      return decode_numbers(first, count, reinterpret_cast<int64_t*>(cells));
    case CellKind::kFloat64: {
      auto* keys = reinterpret_cast<int64_t*>(cells);
      decode_numbers(first, count, keys);
      if (holds_float_keys(head)) float_keys_to_cells(keys, count);
      return;
    }
    case CellKind::kInt128:
      return decode_numbers(first, count, reinterpret_cast<WideCell*>(cells));
    default:
      return decode_texts(first, count, cells);
  }
}

template <typename T>
T FrozenVector::cell_of_entry(uint32_t entry) const noexcept {
  return storage::cell_of_entry<T>(header(), entry);
}

void FrozenVector::decode_one(uint32_t position, char* cell) const noexcept {
  const FrozenHeader& head = header();
  CHECK(position < head.count);
  const uint32_t entry = entry_of(position);
  switch (head.kind) {
    case CellKind::kBool:
      return save_cell(cell, cell_of_entry<uint8_t>(entry));
    case CellKind::kInt16:
      return save_cell(cell, cell_of_entry<int16_t>(entry));
    case CellKind::kInt32:
      return save_cell(cell, cell_of_entry<int32_t>(entry));
    case CellKind::kInt64:
      return save_cell(cell, cell_of_entry<int64_t>(entry));
    case CellKind::kFloat64: {
      const auto value = cell_of_entry<int64_t>(entry);
      return save_cell(cell, holds_float_keys(head) ? order_key(value) : value);
    }
    case CellKind::kInt128:
      return save_cell(cell, cell_of_entry<WideCell>(entry));
    default:
      if (is_null(position)) return write_empty_cell(head.kind, cell, head.cell_bytes);
      write_text(head.kind, head.cell_bytes, text(value_of(entry)), cell);
  }
}

Datum FrozenVector::bound(const uint64_t* words) const noexcept {
  const FrozenHeader& head = header();
  if (head.has_bounds == 0) return null_datum();
  if (!holds_text(head.kind)) return number_datum(head, to_int128(words));
  const StringRef found = text(static_cast<uint32_t>(words[0]));
  return string_datum(found.data, found.size);
}

Datum FrozenVector::min() const noexcept { return bound(header().min); }
Datum FrozenVector::max() const noexcept { return bound(header().max); }

std::optional<__int128> FrozenVector::sum() const noexcept {
  if (header().has_sum == 0) return std::nullopt;
  return to_int128(header().sum);
}

// Runs are added as value times length; all others block by block.
template <typename T>
__int128 FrozenVector::sum_of(uint32_t first, uint32_t count) const noexcept {
  const FrozenHeader& head = header();
  using Sum = std::conditional_t<sizeof(T) == 16, __int128, int64_t>;  // of a block: 16,384 integers of 49 bits or so
  constexpr bool kMayOverflow = sizeof(T) == 8;
  const uint32_t end = first + count;
  __int128 total = 0;
  T values[kBlock];
  const auto add = [&](const T* from, uint32_t n) {
    if constexpr (kMayOverflow) {
      for (uint32_t i = 0; i < n; ++i) total += static_cast<int64_t>(from[i]);
    } else {
      Sum sum = 0;
      for (uint32_t i = 0; i < n; ++i) sum += static_cast<Sum>(from[i]);
      total += sum;
    }
  };
  if (head.has_runs == 0) {
    for (uint32_t block; first < end; first += block) {
      block = std::min(kBlock, end - first);
      decode_entries(first, block, values);
      add(values, block);
    }
    return total;
  }
  const uint16_t* ends = run_ends();
  for (uint32_t run = entry_of(first); first < end;) {
    const uint32_t block = std::min(kBlock, head.entries - run);
    decode_entries(run, block, values);
    Sum sum = 0;
    for (uint32_t i = 0; i < block && first < end; ++i, ++run) {
      const uint32_t run_end = std::min<uint32_t>(ends[run], end);
      if constexpr (kMayOverflow) {
        total += static_cast<__int128>(static_cast<int64_t>(values[i])) * (run_end - first);
      } else {
        sum += static_cast<Sum>(values[i]) * (run_end - first);
      }
      first = run_end;
    }
    total += sum;
  }
  return total;
}

__int128 FrozenVector::sum(uint32_t first, uint32_t count) const noexcept {
  const FrozenHeader& head = header();
  CHECK(first <= head.count && count <= head.count - first && head.null_form == NullForm::kNone);
  if (count == 0) return 0;
  switch (head.kind) {
    case CellKind::kInt16:
      return sum_of<int16_t>(first, count);
    case CellKind::kInt32:
      return sum_of<int32_t>(first, count);
    case CellKind::kInt64:
      return sum_of<int64_t>(first, count);
    case CellKind::kInt128:
      return sum_of<WideCell>(first, count);
    default:
      CHECK(!"a type without sums");
      return 0;
  }
}

void release_frozen(const FrozenVector& vector, RelationDictionary* dictionary) {
  const FrozenHeader& head = vector.header();
  if (head.has_shared_text == 0) return;
  const auto* keys = reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(&head) + uint64_t{head.values_at});
  for (uint32_t i = 0; i < head.values; ++i) dictionary->release(keys[i]);
}

const char* scheme_name(FrozenScheme scheme) {
  static constexpr const char* kNames[kFrozenSchemes] = {"plain", "constant", "packed", "dictionary"};
  return kNames[static_cast<uint32_t>(scheme)];
}

}  // namespace scyper::storage
