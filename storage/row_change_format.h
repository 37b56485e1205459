#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/copy.h"
#include "base/strong.h"
#include "row_plan.h"
#include "storage/big_numeric.h"
#include "storage/cell.h"
#include "storage/row_change.h"
#include "storage/row_values.h"
#include "storage/sequence.h"

// Writing docs/redo_format.md.
namespace scyper::storage {

constexpr uint32_t kVarintBytesMax = 10;

// What put_varint() may write behind the end it returns: everybody who reserves room for the writers here adds it once.
constexpr uint32_t kVarintSlackBytes = 8;

// Without branches on the value up to 56 bits: how long a number is cannot be predicted, and where the number comes
// from a cache miss, a wrong guess would hold up the next transaction's misses too.
inline char* put_varint(char* out, uint64_t value) {
  if (value >> 56 != 0) [[unlikely]] {
    for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
    *out++ = static_cast<char>(value);
    return out;
  }
  const int bytes = (std::bit_width(value | 1) + 6) / 7;
  value = (value & 0x000000000fffffff) | ((value & 0x00fffffff0000000) << 4);  // 7-bit groups into bytes
  value = (value & 0x00003fff00003fff) | ((value & 0x0fffc0000fffc000) << 2);
  value = (value & 0x007f007f007f007f) | ((value & 0x3f803f803f803f80) << 1);
  value |= 0x8080808080808080 & ((uint64_t{1} << (8 * (bytes - 1))) - 1);
  std::memcpy(out, &value, sizeof(value));
  return out + bytes;
}
inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline char* put_signed(char* out, int64_t value) { return put_varint(out, zigzag(value)); }
inline char* put_bytes(char* out, StringRef text) {
  out = put_varint(out, text.size);
  copy_bytes(out, text.data, text.size);
  return out + text.size;
}

// A record of kind kSequence. The bound includes kVarintSlackBytes.
constexpr uint32_t kSequenceChangeBytesMax = 2 + 3 * kVarintBytesMax + kVarintSlackBytes;
inline char* put_sequence_change(char* out, SequenceId id, const SequenceState& state) {
  *out++ = static_cast<char>(RowChangeKind::kSequence);
  out = put_varint(out, id.value());
  out = put_varint(out, state.changes);
  out = put_signed(out, state.value);
  *out++ = state.is_called ? 1 : 0;
  return out;
}

// Most bytes of a cell of varying width, apart from what lies in the heap, and what its payload adds.
uint32_t varying_bytes_max(const ColumnAccess& access);
uint64_t payload_bytes_max(const RowValues::Column& column, const char* cell);
// Without kVarintSlackBytes.
uint64_t canonical_array_bytes_max(const SqlType& type, const ArrayValue& array);
char* put_canonical_array(char* out, const SqlType& type, const ArrayValue& array);

// Whether these 20 bytes are a numeric without precision (types/decimal.h: 38 digits, scale 0 to 255, or NaN or an
// infinity).
inline bool is_decimal(const char* bytes) {
  constexpr __int128 kLimit = static_cast<__int128>(10'000'000'000'000'000'000ULL) * 10'000'000'000'000'000'000ULL;
  __int128 value;
  int32_t scale;
  std::memcpy(&value, bytes, sizeof(value));
  std::memcpy(&scale, bytes + sizeof(value), sizeof(scale));
  if (scale <= kNanScale && scale >= kNegativeInfinityScale) return value == static_cast<__int128>(kSpecialHigh) << 64;
  return scale >= 0 && scale <= 255 && value < kLimit && value > -kLimit;
}
// Constant sizes become single moves. `bytes` is a fixed_value_bytes().
inline char* put_fixed(char* out, const char* cell, uint32_t bytes) {
  switch (bytes) {
    case 1:
      std::memcpy(out, cell, 1);
      break;
    case 2:
      std::memcpy(out, cell, 2);
      break;
    case 4:
      std::memcpy(out, cell, 4);
      break;
    case 8:
      std::memcpy(out, cell, 8);
      break;
    case 16:
      std::memcpy(out, cell, 16);
      break;
    default:
      std::memcpy(out, cell, 20);
  }
  return out + bytes;
}

// A cell of varying width that is not NULL.
inline char* put_varying(char* out, const RowValues::Column& column, const char* cell) {
  if (column.access.kind == CellKind::kArray) return put_canonical_array(out, column.type, read_array(cell)->value);
  return put_bytes(out, read_string(column.access.kind, cell));
}

// The values of a tuple. The bound includes kVarintSlackBytes.
uint64_t row_values_bytes_max(const RowValues& values, const char* chunk, uint32_t offset);
char* put_row_values(char* out, const RowValues& values, const char* chunk, uint32_t offset);

}  // namespace scyper::storage
