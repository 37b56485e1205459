#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/index.h"
#include "storage/schema.h"
#include "storage/type.h"

// The byte format of index keys: memcmp order = SQL order, equal values = equal bytes, and no value is the beginning of
// another. Generated code writes the same bytes. A key is its columns one after the other; each column:
//   [null byte]  nullable columns only: 0 = a value follows, 1 = NULL (so NULLs come last). A NULL of a fixed-width
//   type is
//                followed by that many zero bytes, a NULL of another type by nothing.
//   [value]      bool, int2/4/8, date, time(stamp) 1, 2, 4, 8, 4, 8 bytes: big endian, sign bit flipped
//                numeric(p,s)                      the scaled integer in 2, 4, 8 or 16 bytes (p <= 4, 9, 18, 38),
//                likewise numeric                           put_key_decimal() below float8 the bits, sign flipped, or
//                all flipped when negative; -0 as 0; one NaN, last strings                           the bytes, then 0
//                (char(n): without its trailing blanks)
//                uuid                              its 16 bytes
//                bytea                             the bytes, each 0 followed by 0xff, then two 0
//   A descending column: all its bytes inverted, null byte and terminator too (so NULLs come first).
// Keys of non-unique indexes, and keys with a NULL of unique ones, end with the Tid: 8 bytes, big endian.
namespace scyper::storage {

// Width of a type's value without null byte; 0 = varies.
uint32_t key_bytes_of(const SqlType& type);
// Strings, numbers, booleans, dates and times; not arrays and records.
bool can_be_key(const SqlType& type);

struct KeyColumn {
  SqlType type;
  uint32_t column;       // position in TableSchema::columns
  uint32_t value_bytes;  // key_bytes_of(type)
  bool nullable;
  bool descending;

  uint32_t fixed_bytes() const { return value_bytes == 0 ? 0 : value_bytes + nullable; }
};

constexpr size_t kKeyTooLarge = ~size_t{0};

// How the keys of one index are built.
// Threads: constant after creation.
class KeyFormat {
 public:
  // 0A000 for types that cannot be keys, 54011 for more than 32 columns.
  static StatusOr<KeyFormat> create(const IndexDef& index, const TableSchema& schema);

  const std::vector<KeyColumn>& columns() const { return columns_; }
  bool unique() const { return unique_; }
  // What HashIndex::create and OrderedIndex::create take: the width of every entry's key, with its Tid; 0 = varies.
  uint32_t key_bytes() const { return key_bytes_; }

  // Writes the first values.size() columns to `out` (kMaxIndexKeyBytes bytes of room): a bound, or a whole key without
  // its Tid. Returns the bytes written, or kKeyTooLarge: then the caller fails with key_too_large(). Values have their
  // column's type and scale; a NULL may stand only in a nullable column.
  size_t encode(std::span<const Datum> values, char* out) const noexcept;
  // The key of an entry: all columns, and the Tid where one belongs.
  size_t encode_entry(std::span<const Datum> values, Tid tid, char* out) const noexcept;
  // Whether the key of these values ends with the Tid.
  bool needs_tid(std::span<const Datum> values) const noexcept;

  Status key_too_large(std::span<const Datum> values) const;  // 54000

 private:
  size_t encode_counting(std::span<const Datum> values, char* out) const noexcept;

  std::vector<KeyColumn> columns_;
  std::string name_;
  bool unique_ = false;
  uint32_t key_bytes_ = 0;
};

// The steps of the format, each writing at `out` and returning the end.

template <typename Unsigned>
inline char* put_key_bits(char* out, Unsigned bits) {
  static_assert(std::endian::native == std::endian::little);
  if constexpr (sizeof(bits) == 16) {
    out = put_key_bits(out, static_cast<uint64_t>(bits >> 64));
    return put_key_bits(out, static_cast<uint64_t>(bits));
  } else {
    if constexpr (sizeof(bits) == 2) bits = __builtin_bswap16(bits);
    if constexpr (sizeof(bits) == 4) bits = __builtin_bswap32(bits);
    if constexpr (sizeof(bits) == 8) bits = __builtin_bswap64(bits);
    std::memcpy(out, &bits, sizeof(bits));
    return out + sizeof(bits);
  }
}

// Unsigned: uint8_t (bool), uint16_t, uint32_t, uint64_t or unsigned __int128, the width of the column's cell.
template <typename Unsigned>
inline char* put_key_integer(char* out, Unsigned bits) {
  return put_key_bits(out, static_cast<Unsigned>(bits ^ (static_cast<Unsigned>(1) << (8 * sizeof(bits) - 1))));
}

inline char* put_key_float8(char* out, double value) {
  if (value == 0) value = 0;  // -0 = 0
  uint64_t bits = value != value ? 0x7ff8000000000000ull : std::bit_cast<uint64_t>(value);
  bits ^= (bits >> 63) != 0 ? ~uint64_t{0} : uint64_t{1} << 63;
  return put_key_bits(out, bits);
}

inline char* put_key_tid(char* out, Tid tid) { return put_key_bits(out, static_cast<uint64_t>(tid)); }

// Unconstrained numeric, value / 10^scale, at most kMaxDecimalKeyBytes. Sign byte: 0x7f negative, 0x80 zero (nothing
// follows), 0x81 positive. Then, with value = 0.d1d2d3... * 10^e and d1 not 0: e + 0x8000 in two bytes, big endian; the
// digits in pairs, each pair + 1 in a byte, trailing zeros left out (an odd last digit is a pair with 0); 0 as end. Of
// negative values all bytes after the sign are inverted. So 1.0 and 1.00 are equal.
constexpr uint32_t kMaxDecimalKeyBytes = 24;
char* put_key_decimal(char* out, __int128 value, int32_t scale);

inline size_t key_string_bytes(const char* data, size_t size, bool blank_padded) {
  while (blank_padded && size > 0 && data[size - 1] == ' ') --size;
  return size;
}

}  // namespace scyper::storage
