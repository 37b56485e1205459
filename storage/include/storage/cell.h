#pragma once

#include <cstdint>
#include <cstring>

#include "storage/schema.h"
#include "storage/type.h"

// Reading values from their cells (CellKind says how they lie there).
namespace scyper::storage {

struct StringRef {
  const char* data;
  uint64_t size;
};

template <typename T>
inline T load_cell(const char* cell) {
  T value;
  std::memcpy(&value, cell, sizeof(T));
  return value;
}
template <typename T>
inline void save_cell(char* cell, T value) {
  std::memcpy(cell, &value, sizeof(T));
}

constexpr uint8_t kShortStringInHeap = 255;
constexpr uint32_t kLongStringInline = 12;

inline StringRef read_short_string(const char* cell) {
  const auto length = static_cast<uint8_t>(*cell);
  if (length != kShortStringInHeap) [[likely]]
    return {cell + 1, length};
  return {load_cell<const char*>(cell + 8), load_cell<uint32_t>(cell + 4)};
}
inline StringRef read_long_string(const char* cell) {
  const auto size = load_cell<uint32_t>(cell);
  return {size <= kLongStringInline ? cell + 4 : load_cell<const char*>(cell + 8), size};
}
inline StringRef read_string(CellKind kind, const char* cell) {
  return kind == CellKind::kShortString ? read_short_string(cell) : read_long_string(cell);
}

// An array in the heap: all in one piece, its pointers point into it. bytes counts everything.
struct ArrayImage {
  uint64_t bytes;
  ArrayValue value;
  // Datum elements[value.size]; then the bytes of string elements
};
inline const ArrayImage* read_array(const char* cell) { return load_cell<const ArrayImage*>(cell); }

// The piece of the string heap that a cell refers to; size 0 = none.
inline StringRef payload_of(CellKind kind, const char* cell) {
  switch (kind) {
    case CellKind::kShortString:
      if (static_cast<uint8_t>(*cell) != kShortStringInHeap) [[likely]]
        return {nullptr, 0};
      return {load_cell<const char*>(cell + 8), load_cell<uint32_t>(cell + 4)};
    case CellKind::kLongString:
      if (load_cell<uint32_t>(cell) <= kLongStringInline) return {nullptr, 0};
      return {load_cell<const char*>(cell + 8), load_cell<uint32_t>(cell)};
    case CellKind::kArray: {
      const ArrayImage* image = read_array(cell);
      return {reinterpret_cast<const char*>(image), image == nullptr ? 0 : image->bytes};
    }
    default:
      return {nullptr, 0};
  }
}
constexpr bool may_have_payload(CellKind kind) {
  return kind == CellKind::kShortString || kind == CellKind::kLongString || kind == CellKind::kArray;
}

// The value of a cell that is not NULL. Strings and arrays are not copied: valid until the cell changes.
inline Datum read_cell(CellKind kind, const char* cell, const SqlType& type) {
  Datum datum;
  datum.null = 0;
  datum.scale = type.scale;
  switch (kind) {
    case CellKind::kBool:
      datum.lo = load_cell<uint8_t>(cell);
      break;
    case CellKind::kInt16:
      datum.lo = load_cell<int16_t>(cell);
      break;
    case CellKind::kInt32:
      datum.lo = load_cell<int32_t>(cell);
      break;
    case CellKind::kInt64:
      datum.lo = load_cell<int64_t>(cell);
      break;
    case CellKind::kFloat64:
      datum.lo = load_cell<int64_t>(cell);
      return datum;
    case CellKind::kInt128:
    case CellKind::kDecimal:
      datum.lo = load_cell<int64_t>(cell);
      datum.hi = load_cell<int64_t>(cell + 8);
      if (kind == CellKind::kDecimal) datum.scale = load_cell<int32_t>(cell + 16);
      return datum;
    case CellKind::kShortString:
    case CellKind::kLongString: {
      const StringRef text = read_string(kind, cell);
      return string_datum(text.data, text.size);
    }
    case CellKind::kArray:
      datum.lo = reinterpret_cast<int64_t>(&read_array(cell)->value);
      datum.scale = 0;
      return datum;
  }
  datum.hi = datum.lo < 0 ? -1 : 0;
  return datum;
}

inline bool is_null(const ColumnAccess& access, const char* chunk, uint32_t offset) {
  return access.null_offset != 0 && chunk[access.null_offset + uint64_t{offset} * access.null_stride] != 0;
}
inline const char* cell_of(const ColumnAccess& access, const char* chunk, uint32_t offset) {
  return chunk + access.value_offset + uint64_t{offset} * access.value_stride;
}
inline char* cell_of(const ColumnAccess& access, char* chunk, uint32_t offset) {
  return chunk + access.value_offset + uint64_t{offset} * access.value_stride;
}

inline Datum read_datum(const ColumnAccess& access, const char* chunk, uint32_t offset, const SqlType& type) {
  if (is_null(access, chunk, offset)) return null_datum();
  return read_cell(access.kind, cell_of(access, chunk, offset), type);
}

// Writes a value of a type without payload (no string, no array) into its cell.
inline void write_plain_cell(CellKind kind, char* cell, const Datum& value) {
  switch (kind) {
    case CellKind::kBool:
      save_cell(cell, static_cast<uint8_t>(value.lo));
      break;
    case CellKind::kInt16:
      save_cell(cell, static_cast<int16_t>(value.lo));
      break;
    case CellKind::kInt32:
      save_cell(cell, static_cast<int32_t>(value.lo));
      break;
    case CellKind::kDecimal:
      save_cell(cell + 16, value.scale);
      save_cell(cell + 20, int32_t{0});
      [[fallthrough]];
    case CellKind::kInt128:
      save_cell(cell + 8, value.hi);
      [[fallthrough]];
    default:
      save_cell(cell, value.lo);
  }
}
// The cell of a NULL, and what a cell holds before a payload is stored: refers to nothing.
inline void write_empty_cell(CellKind kind, char* cell, uint32_t cell_bytes) {
  std::memset(cell, 0, kind == CellKind::kShortString ? 1 : cell_bytes);
}

// <0, 0, >0. SQL order of strings is byte order.
inline int compare_strings(StringRef a, StringRef b) {
  const uint64_t common = a.size < b.size ? a.size : b.size;
  const int order = common == 0 ? 0 : std::memcmp(a.data, b.data, common);
  if (order != 0) return order;
  return a.size < b.size ? -1 : a.size > b.size;
}
// As char(n): trailing blanks do not count.
inline StringRef trim_blanks(StringRef text) {
  while (text.size > 0 && text.data[text.size - 1] == ' ') --text.size;
  return text;
}
inline int compare_padded(StringRef a, StringRef b) { return compare_strings(trim_blanks(a), trim_blanks(b)); }

// Whether two values of one type are the same in every respect (1.0 is not 1.00, NULL is NULL).
bool same_value(const SqlType& type, const Datum& a, const Datum& b);

}  // namespace scyper::storage
