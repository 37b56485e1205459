#include <algorithm>

#include "base/check.h"
#include "row_change_format.h"

namespace scyper::storage {
namespace {

uint64_t element_bytes_max(const SqlType& type, const Datum& value) {
  return is_string(type.id) ? kVarintBytesMax + value.size() : kVarint128BytesMax + kVarintBytesMax;
}

// As put_canonical() of a cell of this type.
char* put_canonical_datum(char* out, const SqlType& type, const Datum& value) {
  switch (cell_kind_of(type)) {
    case CellKind::kBool:
      *out = static_cast<char>(value.lo);
      return out + 1;
    case CellKind::kInt16:
    case CellKind::kInt32:
    case CellKind::kInt64:
      return put_signed(out, value.lo);
    case CellKind::kFloat64:
      std::memcpy(out, &value.lo, 8);
      return out + 8;
    case CellKind::kDecimal:
      out = put_signed(out, value.scale);
      [[fallthrough]];
    case CellKind::kInt128:
      return put_signed128(out, value.int128());
    case CellKind::kShortString:
    case CellKind::kLongString:
      return put_bytes(out, {value.data(), value.size()});
    case CellKind::kArray:
      break;
  }
  CHECK(!"an array of arrays");
  return out;
}

uint64_t array_bytes_max(const SqlType& type, const ArrayValue& array) {
  const SqlType element = element_of(type);
  uint64_t bytes = 2 * kVarintBytesMax + (static_cast<uint64_t>(array.size) + 7) / 8;
  for (int32_t i = 0; i < array.size; ++i) bytes += element_bytes_max(element, array.elements[i]);
  return bytes;
}

}  // namespace

uint32_t canonical_bytes_max(const ColumnAccess& access) {
  switch (access.kind) {
    case CellKind::kBool:
      return 1;
    case CellKind::kInt16:
      return 3;
    case CellKind::kInt32:
      return 5;
    case CellKind::kInt64:
      return kVarintBytesMax;
    case CellKind::kFloat64:
      return 8;
    case CellKind::kInt128:
      return kVarint128BytesMax;
    case CellKind::kDecimal:
      return 5 + kVarint128BytesMax;
    case CellKind::kShortString:
    case CellKind::kLongString:
      return 5 + access.cell_bytes;
    case CellKind::kArray:
      return 0;
  }
  return 0;
}

uint64_t payload_canonical_bytes(const ColumnPlan& column, const char* cell) {
  const StringRef payload = payload_of(column.access.kind, cell);
  if (payload.size == 0) return 0;
  if (column.access.kind != CellKind::kArray) return payload.size;
  return array_bytes_max(column.type, read_array(cell)->value);
}

char* put_canonical_array(char* out, const SqlType& type, const ArrayValue& array) {
  const SqlType element = element_of(type);
  out = put_varint(out, static_cast<uint64_t>(array.size));
  out = put_signed(out, array.lower_bound);
  char* bitmap = out;
  const size_t bitmap_bytes = (static_cast<size_t>(array.size) + 7) / 8;
  std::memset(bitmap, 0, bitmap_bytes);
  out += bitmap_bytes;
  for (int32_t i = 0; i < array.size; ++i) {
    const Datum& value = array.elements[i];
    if (value.null != 0) {
      bitmap[i / 8] = static_cast<char>(bitmap[i / 8] | (1 << (i % 8)));
    } else {
      out = put_canonical_datum(out, element, value);
    }
  }
  return out;
}

uint64_t row_body_bytes_max(const RowPlan& plan, const char* chunk, uint32_t offset) {
  uint64_t bytes = plan.row_bytes_max + kVarintSlackBytes;
  for (const ColumnPlan& column : plan.payloads) {
    bytes += payload_canonical_bytes(column, cell_of(column.access, chunk, offset));
  }
  return bytes;
}

char* put_row_body(char* out, const RowPlan& plan, const char* chunk, uint32_t offset) {
  char* bitmap = out;
  std::memset(bitmap, 0, plan.null_bitmap_bytes);
  out += plan.null_bitmap_bytes;
  uint32_t nullable = 0;
  for (const ColumnPlan& column : plan.columns) {
    if (column.access.null_offset != 0) {
      const uint32_t bit = nullable++;
      if (is_null(column.access, chunk, offset)) {
        bitmap[bit / 8] = static_cast<char>(bitmap[bit / 8] | (1 << (bit % 8)));
        continue;
      }
    }
    out = put_canonical(out, column.access, column.type, cell_of(column.access, chunk, offset));
  }
  return out;
}

std::string row_change_prefix(RowChangeKind kind, TableId table, std::span<const uint32_t> columns) {
  std::string prefix(1 + kVarintBytesMax * (2 + columns.size()), '\0');
  char* out = prefix.data();
  *out++ = static_cast<char>(kind);
  out = put_varint(out, table.value());
  if (kind == RowChangeKind::kUpdate) {
    out = put_varint(out, columns.size());
    uint32_t last = 0;
    for (uint32_t column : columns) {
      out = put_varint(out, column - last);
      last = column;
    }
  }
  prefix.resize(static_cast<size_t>(out - prefix.data()));
  return prefix;
}

}  // namespace scyper::storage
