#include <algorithm>

#include "row_change_format.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kFixedBytesMax = 24;  // of a cell

uint64_t element_bytes_max(const SqlType& type, const Datum& value) {
  return holds_bytes(type.id) ? kVarintBytesMax + value.size() : kFixedBytesMax;
}

char* put_element(char* out, const SqlType& type, const Datum& value) {
  if (holds_bytes(type.id)) return put_bytes(out, {value.data(), value.size()});
  const CellKind kind = cell_kind_of(type);
  char cell[kFixedBytesMax];
  write_plain_cell(kind, cell, value);
  return put_fixed(out, cell, fixed_value_bytes(kind));
}

}  // namespace

uint64_t canonical_array_bytes_max(const SqlType& type, const ArrayValue& array) {
  const SqlType element = element_of(type);
  uint64_t bytes = 2 * kVarintBytesMax + (static_cast<uint64_t>(array.size) + 7) / 8;
  for (int32_t i = 0; i < array.size; ++i) bytes += element_bytes_max(element, array.elements[i]);
  return bytes;
}

uint32_t varying_bytes_max(const ColumnAccess& access) {
  return access.kind == CellKind::kArray ? 0 : kVarintBytesMax + access.cell_bytes;
}

uint64_t payload_bytes_max(const RowValues::Column& column, const char* cell) {
  const StringRef payload = payload_of(column.access.kind, cell);
  if (payload.size == 0) return 0;
  if (column.access.kind != CellKind::kArray) return payload.size;
  return canonical_array_bytes_max(column.type, read_array(cell)->value);
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
      out = put_element(out, element, value);
    }
  }
  return out;
}

uint64_t row_values_bytes_max(const RowValues& values, const char* chunk, uint32_t offset) {
  uint64_t bytes = values.fixed_bytes + values.varying_bytes_max + kVarintSlackBytes;
  for (const RowValues::Column& column : values.varying) {
    bytes += payload_bytes_max(column, cell_of(column.access, chunk, offset));
  }
  return bytes;
}

char* put_row_values(char* out, const RowValues& values, const char* chunk, uint32_t offset) {
  char* bitmap = out;
  std::memset(bitmap, 0, values.bitmap_bytes);
  auto skips_null = [&](const RowValues::Column& column) {
    if (!is_null(column.access, chunk, offset)) return false;
    bitmap[column.null_bit / 8] = static_cast<char>(bitmap[column.null_bit / 8] | (1 << (column.null_bit % 8)));
    return true;
  };
  for (const RowValues::Column& column : values.fixed) {
    if (column.null_bit >= 0 && skips_null(column)) {
      std::memset(bitmap + column.at, 0, column.bytes);
    } else {
      put_fixed(bitmap + column.at, cell_of(column.access, chunk, offset), column.bytes);
    }
  }
  out += values.fixed_bytes;
  for (const RowValues::Column& column : values.varying) {
    if (column.null_bit >= 0 && skips_null(column)) continue;
    out = put_varying(out, column, cell_of(column.access, chunk, offset));
  }
  return out;
}

uint32_t fixed_value_bytes(CellKind kind) {
  switch (kind) {
    case CellKind::kBool:
      return 1;
    case CellKind::kInt16:
      return 2;
    case CellKind::kInt32:
      return 4;
    case CellKind::kInt64:
    case CellKind::kFloat64:
      return 8;
    case CellKind::kInt128:
      return 16;
    case CellKind::kDecimal:
      return 20;
    case CellKind::kShortString:
    case CellKind::kLongString:
    case CellKind::kArray:
      return 0;
  }
  return 0;
}

RowValues make_row_values(const TableSchema& schema, const TableLayout& layout, std::span<const uint32_t> columns) {
  RowValues values;
  int32_t nullable = 0;
  for (uint32_t i : columns) {
    const ColumnAccess& access = layout.columns[i];
    const int32_t null_bit = schema.columns[i].not_null ? -1 : nullable++;
    const uint32_t bytes = fixed_value_bytes(access.kind);
    (bytes > 0 ? values.fixed : values.varying).push_back({i, access, schema.columns[i].type, null_bit, 0, bytes});
    if (bytes == 0) values.varying_bytes_max += varying_bytes_max(access);
  }
  values.bitmap_bytes = static_cast<uint32_t>(nullable + 7) / 8;
  values.fixed_bytes = values.bitmap_bytes;
  for (RowValues::Column& column : values.fixed) {
    column.at = values.fixed_bytes;
    values.fixed_bytes += column.bytes;
  }
  return values;
}

char* put_text_value(char* out, const char* data, uint64_t size) noexcept { return put_bytes(out, {data, size}); }

std::vector<uint32_t> identity_columns(const TableSchema& schema) {
  for (const IndexDef& index : schema.indexes) {
    if (index.primary) return index.columns;
  }
  return {static_cast<uint32_t>(schema.columns.size()) - 1};
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
