#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/strong.h"
#include "storage/type.h"

namespace scyper::storage {

// A chunk holds 2^14 tuples: a 4-byte vector is then 64 KB, so that vectors are whole pages (VLDB'12 observes and
// freezes per vector) and a chunk of a wide table stays near 2 MB.
constexpr uint32_t kChunkShift = 14;
constexpr uint32_t kChunkTuples = 1u << kChunkShift;

// Position of a tuple in its table partition: chunk << kChunkShift | offset. Local to a node, never logged.
using Tid = uint64_t;
constexpr Tid kNoTid = ~Tid{0};

enum class Layout : uint8_t { kColumn, kRow };

// How a value lies in its cell (the place of one attribute of one tuple).
// Invariant: the cell of a NULL string is the empty string and that of a NULL array the null pointer, so that nothing
// dangles.
enum class CellKind : uint8_t {
  kBool,   // 1 byte
  kInt16,  // int2; numeric of precision <= 4
  kInt32,  // int4, date; numeric of precision <= 9
  kInt64,  // int8, timestamp; numeric of precision <= 18
  kFloat64,
  kInt128,       // numeric of precision <= 38
  kDecimal,      // unconstrained numeric: int128 value, int32 scale at +16; 24 bytes
  kShortString,  // char(n)/varchar(n), n <= 63: length byte, then the bytes in the cell. Where UTF-8 needs more bytes
                 // than the cell has: length byte 255, uint32 size at +4, pointer at +8 (cells of n >= 4 have max(16, 1
                 // + n) bytes; cells of n <= 3 have 1 + 4n bytes and never need it)
  kLongString,  // text, longer varchar: uint32 size; up to 12 bytes follow, else their first four and the pointer at +8
  kArray,       // pointer to an array image in the string heap (cell.h), 8 bytes
};
CellKind cell_kind_of(const SqlType& type);
uint32_t cell_bytes_of(const SqlType& type);

struct ColumnDef {
  std::string name;
  SqlType type;
  bool not_null = false;
};

enum class PartitionScheme : uint8_t { kShared, kHash, kRange, kList };

struct IndexDef {
  IndexId id;
  std::string name;
  std::vector<uint32_t> columns;  // positions in TableSchema::columns, in key order
  std::vector<bool> descending;   // empty = all ascending
  bool unique = false;
  bool primary = false;
  bool constraint = false;  // of a PRIMARY KEY or UNIQUE constraint with its name
  bool partial = false;     // has no entries of rows whose first column, a hidden one, is NULL
};

// What a table is, apart from where its data lies. Immutable once published in a catalog version.
struct TableSchema {
  TableId id;
  uint64_t version = 0;  // raised by every change of this table's definition; compiled code checks it
  std::string name;
  // Visible ones, hidden ones that only indexes read (indexes on expressions, partial indexes), and in tables without
  // primary key a hidden last one, "__row_id" int8 (has_row_id).
  std::vector<ColumnDef> columns;
  uint32_t hidden_columns = 0;  // without __row_id
  bool has_row_id = false;
  PartitionScheme scheme = PartitionScheme::kShared;
  uint32_t partition_column = 0;
  Layout layout = Layout::kColumn;
  std::vector<IndexDef> indexes;
};

// Columns that statements see: the first ones.
size_t visible_columns(const TableSchema& schema);

// Where one column's cells lie in every chunk of a table: address(offset) = chunk + value_offset + offset *
// value_stride. Base and stride serve column and row layout alike (HyPer III: two layouts, here behind one access
// model). NULL flags are bytes apart from values: chunk + null_offset + offset * null_stride, 1 = NULL; null_offset 0 =
// the column is NOT NULL. Cells may lie unaligned: read and write them with memcpy or unaligned loads.
struct ColumnAccess {
  CellKind kind;
  uint32_t cell_bytes;
  uint32_t value_offset;
  uint32_t value_stride;
  uint32_t null_offset;
  uint32_t null_stride;
};

struct TableLayout {
  std::vector<ColumnAccess> columns;
  uint32_t live_offset = 0;  // one byte per tuple, stride 1: 1 = live
  uint32_t free_offset = 0;  // uint16 per tuple, touched by deletes only: the next free position of the chunk + 1
  uint32_t chunk_bytes =
      0;  // multiple of 4,096; vectors of the column layout start on page borders (64 bytes when small)
};

// Column layout: a vector of cells and, for nullable columns, a vector of NULL bytes per column. Row layout: cells and
// NULL bytes of a tuple together, widest alignment first; live bytes apart in both, because scans read nothing else of
// dead tuples.
TableLayout make_layout(const TableSchema& schema);
// The layout of a table that is made of another one and keeps its chunks. kept: by column, whose cells of the old table
// it has; -1: cells of its own, which follow behind all others as vectors. nullopt: a chunk would be too large.
std::optional<TableLayout> extend_layout(const TableLayout& old, const TableSchema& schema,
                                         const std::vector<int>& kept);
// Bytes of a chunk, or more than kMaxChunkBytes when the columns are too wide: then make_layout() may not be called.
uint64_t chunk_bytes_of(const TableSchema& schema);
constexpr uint64_t kMaxChunkBytes = uint64_t{1} << 31;  // offsets are 32 bits

// Which partition a partitioning value belongs to: the same on every node and in generated code. bool, integers, dates
// and times as int64 here, a uuid as its two halves XORed; other types by route().
inline uint32_t partition_of(int64_t value, uint32_t partitions) {
  uint64_t mixed = static_cast<uint64_t>(value) * 0x9E3779B97F4A7C15ull;
  return static_cast<uint32_t>(((mixed >> 32) * partitions) >> 32);
}
// Any value of the partition column: what partition_of() does not take as int64 goes through it as the XXH3 of its
// index key bytes (key.h: equal values have equal bytes). NULL lies in partition 0; shared tables have only that one.
// RANGE and LIST place tuples like HASH as long as the number of partitions is the cluster's.
uint32_t route(const TableSchema& schema, const Datum& value, uint32_t partitions) noexcept;
constexpr bool routes_as_integer(TypeId type) {
  return type == TypeId::kBool || is_integer(type) || is_moment(type) || type == TypeId::kTime;
}

}  // namespace scyper::storage
