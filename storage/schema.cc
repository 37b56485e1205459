#include "storage/schema.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "storage/big_numeric.h"
#include "storage/key.h"
#include "storage/table.h"

namespace scyper::storage {
namespace {

constexpr int32_t kMaxShortCharacters = 63;  // a cell is at most one cache line
constexpr int32_t kMaxTinyCharacters = 3;    // 1 + 4n bytes: every UTF-8 string of n characters fits

constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

CellKind numeric_cell_kind(uint8_t precision) {
  if (precision == 0) return CellKind::kDecimal;
  if (precision <= 4) return CellKind::kInt16;
  if (precision <= 9) return CellKind::kInt32;
  return precision <= kMaxPrecision64 ? CellKind::kInt64 : CellKind::kInt128;
}

uint32_t alignment_of(CellKind kind) {
  switch (kind) {
    case CellKind::kBool:
    case CellKind::kShortString:
      return 1;
    case CellKind::kInt16:
      return 2;
    case CellKind::kInt32:
      return 4;
    default:
      return 8;
  }
}

// Next free byte of a chunk under construction. 64 bits: wide schemas overflow 32 before they are refused.
struct ChunkCursor {
  uint64_t bytes = sizeof(ChunkHeader);

  uint64_t add_vector(uint64_t stride) {
    const uint64_t vector_bytes = stride * kChunkTuples;
    const uint64_t start = round_up(bytes, vector_bytes >= 4096 ? 4096 : 64);
    bytes = start + vector_bytes;
    return start;
  }
};

ColumnAccess unplaced(const SqlType& type) { return {cell_kind_of(type), cell_bytes_of(type), 0, 0, 0, 0}; }

void place_column(ColumnAccess* access, bool not_null, ChunkCursor* cursor) {
  access->value_stride = access->cell_bytes;
  access->value_offset = static_cast<uint32_t>(cursor->add_vector(access->cell_bytes));
  if (not_null) return;
  access->null_stride = 1;
  access->null_offset = static_cast<uint32_t>(cursor->add_vector(1));
}

void place_columns(TableLayout* layout, const TableSchema& schema, ChunkCursor* cursor) {
  for (size_t i = 0; i < schema.columns.size(); ++i)
    place_column(&layout->columns[i], schema.columns[i].not_null, cursor);
}

void place_rows(TableLayout* layout, const TableSchema& schema, ChunkCursor* cursor) {
  uint64_t row_bytes = 0;
  uint32_t row_alignment = 1;
  for (uint32_t alignment : {8u, 4u, 2u, 1u}) {
    for (ColumnAccess& access : layout->columns) {
      if (alignment_of(access.kind) != alignment) continue;
      row_alignment = std::max(row_alignment, alignment);
      access.value_offset = static_cast<uint32_t>(row_bytes);
      row_bytes += access.cell_bytes;
    }
  }
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (!schema.columns[i].not_null) layout->columns[i].null_offset = static_cast<uint32_t>(row_bytes++);
  }
  const uint64_t stride = round_up(std::max<uint64_t>(row_bytes, 1), row_alignment);
  const uint64_t start = cursor->add_vector(stride);
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    ColumnAccess& access = layout->columns[i];
    access.value_offset += static_cast<uint32_t>(start);
    access.value_stride = static_cast<uint32_t>(stride);
    if (schema.columns[i].not_null) continue;
    access.null_offset += static_cast<uint32_t>(start);
    access.null_stride = static_cast<uint32_t>(stride);
  }
}

uint64_t place_all(TableLayout* layout, const TableSchema& schema) {
  ChunkCursor cursor;
  layout->columns.clear();
  for (const ColumnDef& column : schema.columns) layout->columns.push_back(unplaced(column.type));
  if (schema.layout == Layout::kColumn) {
    place_columns(layout, schema, &cursor);
  } else {
    place_rows(layout, schema, &cursor);
  }
  layout->live_offset = static_cast<uint32_t>(cursor.add_vector(1));
  layout->free_offset = static_cast<uint32_t>(cursor.add_vector(sizeof(uint16_t)));
  return round_up(cursor.bytes, 4096);
}

}  // namespace

size_t visible_columns(const TableSchema& schema) {
  return schema.columns.size() - schema.hidden_columns - (schema.has_row_id ? 1 : 0);
}

CellKind cell_kind_of(const SqlType& type) {
  switch (kept_as(type.id)) {
    case TypeId::kBool:
      return CellKind::kBool;
    case TypeId::kInt2:
      return CellKind::kInt16;
    case TypeId::kInt4:
    case TypeId::kDate:
      return CellKind::kInt32;
    case TypeId::kInt8:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
    case TypeId::kEnum:
      return CellKind::kInt64;
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return CellKind::kFloat64;
    case TypeId::kNumeric:
      return numeric_cell_kind(type.precision);
    case TypeId::kChar:
    case TypeId::kVarchar:
      return type.length >= 0 && type.length <= kMaxShortCharacters ? CellKind::kShortString : CellKind::kLongString;
    case TypeId::kText:
    case TypeId::kBytea:
    case TypeId::kJsonb:
      return CellKind::kLongString;
    case TypeId::kArray:
      return CellKind::kArray;
    case TypeId::kUuid:
    case TypeId::kInterval:
      return CellKind::kInt128;  // microseconds, days and months as in a Datum
    default:
      break;
  }
  CHECK(!"a column of this type");
  return CellKind::kBool;
}

uint32_t cell_bytes_of(const SqlType& type) {
  switch (cell_kind_of(type)) {
    case CellKind::kBool:
      return 1;
    case CellKind::kInt16:
      return 2;
    case CellKind::kInt32:
      return 4;
    case CellKind::kInt64:
    case CellKind::kFloat64:
    case CellKind::kArray:
      return 8;
    case CellKind::kInt128:
    case CellKind::kLongString:
      return 16;
    case CellKind::kDecimal:
      return 24;
    case CellKind::kShortString: {
      const auto n = static_cast<uint32_t>(type.length);
      return type.length <= kMaxTinyCharacters ? 1 + 4 * n : std::max(16u, 1 + n);
    }
  }
  return 0;
}

uint64_t chunk_bytes_of(const TableSchema& schema) {
  TableLayout layout;
  return place_all(&layout, schema);
}

TableLayout make_layout(const TableSchema& schema) {
  TableLayout layout;
  const uint64_t bytes = place_all(&layout, schema);
  CHECK(bytes <= kMaxChunkBytes);
  layout.chunk_bytes = static_cast<uint32_t>(bytes);
  return layout;
}

std::optional<TableLayout> extend_layout(const TableLayout& old, const TableSchema& schema,
                                         const std::vector<int>& kept) {
  TableLayout layout;
  layout.live_offset = old.live_offset;
  layout.free_offset = old.free_offset;
  ChunkCursor cursor{old.chunk_bytes};
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    ColumnAccess& access = layout.columns.emplace_back(unplaced(schema.columns[i].type));
    if (kept[i] >= 0) {
      access = old.columns[static_cast<size_t>(kept[i])];
    } else {
      place_column(&access, schema.columns[i].not_null, &cursor);
    }
    if (cursor.bytes > kMaxChunkBytes) return std::nullopt;
  }
  const uint64_t bytes = round_up(cursor.bytes, 4096);
  if (bytes > kMaxChunkBytes) return std::nullopt;
  layout.chunk_bytes = static_cast<uint32_t>(bytes);
  return layout;
}

namespace {
// A long number that is equal to a short one, but for zeros behind the point, as that; others as 0: no row has them.
Datum short_number(const Datum& value) {
  if (!is_special_numeric(value)) return value;
  BigNumeric big = value.scale == kBigScale ? BigNumeric::of(value.hi) : BigNumeric{};
  std::vector<uint64_t> limbs(std::max<size_t>(big.limbs, 2));
  if (big.limbs > 0) std::memcpy(limbs.data(), value.data(), big.bytes());
  for (; big.scale > 0; --big.scale) {
    std::vector<uint64_t> tenth(limbs.size());
    unsigned __int128 rest = 0;
    for (size_t i = limbs.size(); i-- > 0;) {
      rest = rest << 64 | limbs[i];
      tenth[i] = static_cast<uint64_t>(rest / 10);
      rest %= 10;
    }
    if (rest != 0) break;
    limbs = std::move(tenth);
  }
  constexpr uint32_t kShortScale = 255;
  const bool is_short = std::all_of(limbs.begin() + 2, limbs.end(), [](uint64_t limb) { return limb == 0; });
  if (!is_short || (limbs[1] >> 62) != 0 || big.scale > kShortScale) return int128_datum(0, 0);
  const auto number = static_cast<__int128>(static_cast<unsigned __int128>(limbs[1]) << 64 | limbs[0]);
  return int128_datum(big.negative ? -number : number, static_cast<int32_t>(big.scale));
}
}  // namespace

uint32_t route(const TableSchema& schema, const Datum& value, uint32_t partitions) noexcept {
  if (schema.scheme == PartitionScheme::kShared || partitions <= 1 || value.null != 0) return 0;
  const SqlType& type = schema.columns[schema.partition_column].type;
  if (routes_as_integer(type.id)) return partition_of(value.lo, partitions);
  if (is_string(type.id)) {
    const size_t size = key_string_bytes(value.data(), value.size(), type.id == TypeId::kChar);
    return partition_of(static_cast<int64_t>(XXH3_64bits(value.data(), size)), partitions);
  }
  if (type.id == TypeId::kUuid) return partition_of(value.lo ^ value.hi, partitions);
  std::array<char, kMaxDecimalKeyBytes> key;
  const Datum number = is_float(type.id) ? value : short_number(value);
  char* end = is_float(type.id) ? put_key_float8(key.data(), std::bit_cast<double>(number.lo))
                                : put_key_decimal(key.data(), number.int128(), number.scale);
  const auto size = static_cast<size_t>(end - key.data());
  return partition_of(static_cast<int64_t>(XXH3_64bits(key.data(), size)), partitions);
}

}  // namespace scyper::storage
