#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/strong.h"
#include "row_plan.h"
#include "storage/cell.h"
#include "storage/row_change.h"

// Writing docs/redo_format.md, "Row changes" and "Canonical values".
namespace scyper::storage {

constexpr uint32_t kVarintBytesMax = 10;
constexpr uint32_t kVarint128BytesMax = 19;

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
inline char* put_signed128(char* out, __int128 value) {
  auto bits = (static_cast<unsigned __int128>(value) << 1) ^ static_cast<unsigned __int128>(value >> 127);
  if (bits >> 64 == 0) return put_varint(out, static_cast<uint64_t>(bits));
  while (bits >= 0x80) {
    *out++ = static_cast<char>(static_cast<uint8_t>(bits) | 0x80);
    bits >>= 7;
  }
  *out++ = static_cast<char>(bits);
  return out;
}
inline char* put_bytes(char* out, StringRef text) {
  out = put_varint(out, text.size);
  std::memcpy(out, text.data, text.size);
  return out + text.size;
}

// Most bytes of a canonical value, apart from what lies in the heap.
uint32_t canonical_bytes_max(const ColumnAccess& access);
// Most bytes that its payload adds.
uint64_t payload_canonical_bytes(const ColumnPlan& column, const char* cell);
char* put_canonical_array(char* out, const SqlType& type, const ArrayValue& array);

// The canonical value of a cell that is not NULL.
inline char* put_canonical(char* out, const ColumnAccess& access, const SqlType& type, const char* cell) {
  switch (access.kind) {
    case CellKind::kBool:
      *out = *cell;
      return out + 1;
    case CellKind::kInt16:
      return put_signed(out, load_cell<int16_t>(cell));
    case CellKind::kInt32:
      return put_signed(out, load_cell<int32_t>(cell));
    case CellKind::kInt64:
      return put_signed(out, load_cell<int64_t>(cell));
    case CellKind::kFloat64:
      std::memcpy(out, cell, 8);
      return out + 8;
    case CellKind::kDecimal:
      out = put_signed(out, load_cell<int32_t>(cell + 16));
      [[fallthrough]];
    case CellKind::kInt128:
      return put_signed128(out, load_cell<__int128>(cell));
    case CellKind::kShortString:
      return put_bytes(out, read_short_string(cell));
    case CellKind::kLongString:
      return put_bytes(out, read_long_string(cell));
    case CellKind::kArray:
      return put_canonical_array(out, type, read_array(cell)->value);
  }
  return out;
}

// NULL bitmap and canonical values of a whole tuple: the body of an insert, and what a digest hashes. The bound
// includes kVarintSlackBytes.
uint64_t row_body_bytes_max(const RowPlan& plan, const char* chunk, uint32_t offset);
char* put_row_body(char* out, const RowPlan& plan, const char* chunk, uint32_t offset);

// Kind, table and, for updates, the changed columns.
std::string row_change_prefix(RowChangeKind kind, TableId table, std::span<const uint32_t> columns);

}  // namespace scyper::storage
