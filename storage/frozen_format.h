#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "bit_packing.h"
#include "storage/frozen_vector.h"

// What reading and making images share.
namespace scyper::storage {

// Values whose length differs, and unconstrained numerics, whose 24 bytes are held like a text.
constexpr bool holds_text(CellKind kind) {
  return kind == CellKind::kShortString || kind == CellKind::kLongString || kind == CellKind::kDecimal;
}

inline __int128 make_int128(uint64_t lo, uint64_t hi) {
  return static_cast<__int128>((static_cast<unsigned __int128>(hi) << 64) | lo);
}
inline __int128 to_int128(const uint64_t* words) { return make_int128(words[0], words[1]); }
inline __int128 to_int128(const char* cell) {
  return make_int128(load_cell<uint64_t>(cell), load_cell<uint64_t>(cell + 8));
}
inline void put_int128(__int128 value, uint64_t* words) {
  words[0] = static_cast<uint64_t>(value);
  words[1] = static_cast<uint64_t>(value >> 64);
}

// A cell of 128 bits: aligned to 8 only.
struct WideCell {
  uint64_t lo;
  uint64_t hi;
  explicit operator __int128() const { return make_int128(lo, hi); }
};

template <typename T>
T to_cell(__int128 value) {
  if constexpr (std::is_same_v<T, WideCell>) {
    return {static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)};
  } else {
    return static_cast<T>(value);
  }
}
template <typename T>
T add_code(T reference, uint64_t code) {
  if constexpr (std::is_same_v<T, WideCell>) {
    const uint64_t lo = reference.lo + code;
    return {lo, reference.hi + (lo < code ? 1 : 0)};
  } else {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(reference) + static_cast<std::make_unsigned_t<T>>(code));
  }
}

// The number that a cell holds: doubles as their order_key().
inline __int128 number_of_cell(CellKind kind, const char* cell) {
  switch (kind) {
    case CellKind::kBool:
      return load_cell<uint8_t>(cell);
    case CellKind::kInt16:
      return load_cell<int16_t>(cell);
    case CellKind::kInt32:
      return load_cell<int32_t>(cell);
    case CellKind::kFloat64:
      return order_key(load_cell<int64_t>(cell));
    case CellKind::kInt128:
      return to_int128(cell);
    default:
      return load_cell<int64_t>(cell);
  }
}

inline Datum number_datum(const FrozenHeader& header, __int128 number) {
  if (header.kind == CellKind::kFloat64) {
    return Datum{order_key(static_cast<int64_t>(number)), 0, header.scale, 0, {}};
  }
  return int128_datum(number, header.scale);
}

inline bool has_codes(const FrozenHeader& header) {
  return header.scheme == FrozenScheme::kPacked || header.scheme == FrozenScheme::kDictionary;
}
// Of what lies at values_at, one after the other: cells; of texts, borders or keys.
inline uint64_t value_bytes(const FrozenHeader& header) {
  return holds_text(header.kind) ? sizeof(uint32_t) : header.cell_bytes;
}

inline PackedCodes packed_codes(const FrozenHeader& header) {
  return {reinterpret_cast<const char*>(&header) + header.codes_at, header.entries, header.code_bits};
}

// Positional lookup: a code's slot is its leading slot_bits, of which the image says among which entries all such codes
// lie. Pairs [begin, end), empty where there is none.
constexpr uint32_t kSlotBitsMax = 6;
constexpr uint32_t slots_bytes(uint32_t slot_bits) { return slot_bits == 0 ? 0 : 2 * sizeof(uint16_t) << slot_bits; }
inline const uint16_t* position_slots(const FrozenHeader& header) {
  return reinterpret_cast<const uint16_t*>(reinterpret_cast<const char*>(&header) + header.codes_at -
                                           slots_bytes(header.slot_bits));
}

// Reference and codes of doubles are order keys; plain ones and the values of a dictionary are cells.
inline bool holds_float_keys(const FrozenHeader& header) {
  return header.scheme == FrozenScheme::kPacked || header.scheme == FrozenScheme::kConstant;
}

// Whether the sections of a vector lie within its bytes; what they hold is not looked at.
bool lies_within(const FrozenHeader& header, uint32_t values_at, uint64_t bytes);

// In the order of SQL. Of unconstrained numerics: any order.
inline int compare_texts(TypeId type, StringRef a, StringRef b) {
  return type == TypeId::kChar ? compare_padded(a, b) : compare_strings(a, b);
}

// visit(begin, end) for the pieces of NULL ranges in [first, last).
template <typename Visit>
void for_each_null_range(const FrozenHeader& header, const char* nulls, uint32_t first, uint32_t last, Visit visit) {
  const auto* borders = reinterpret_cast<const uint16_t*>(nulls);
  for (uint32_t i = 0; i < header.null_ranges; ++i) {
    const uint32_t begin = borders[2 * i] < first ? first : borders[2 * i];
    const uint32_t end = borders[2 * i + 1] < last ? borders[2 * i + 1] : last;
    if (begin < end) visit(begin, end);
  }
}

template <typename Visit>
void for_each_null(const FrozenHeader& header, const char* nulls, uint32_t first, uint32_t last, Visit visit) {
  const auto visit_all = [&](uint32_t begin, uint32_t end) {
    for (; begin < end; ++begin) visit(begin);
  };
  if (header.null_form == NullForm::kAll) visit_all(first, last);
  if (header.null_form == NullForm::kRanges) for_each_null_range(header, nulls, first, last, visit_all);
  if (header.null_form != NullForm::kBits) return;
  const auto* words = reinterpret_cast<const uint64_t*>(nulls);
  for (; first < last; ++first) {
    if (((words[first / 64] >> (first % 64)) & 1) != 0) visit(first);
  }
}

}  // namespace scyper::storage
