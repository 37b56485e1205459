#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/row_change.h"
#include "storage/schema.h"

namespace scyper::storage {

// How the values of some columns lie in redo and are hashed by digests (docs/redo_format.md, "Values"): what has a
// fixed width at fixed places, then the rest. Generated code writes this form by itself from registers (query/codegen);
// the functions here write it from cells.
struct RowValues {
  struct Column {
    uint32_t column;  // in the table
    ColumnAccess access;
    SqlType type;
    int32_t null_bit;  // in the bitmap, -1 = NOT NULL
    uint32_t at;       // fixed: first byte, counted from the bitmap's first
    uint32_t bytes;    // fixed: width
  };
  std::vector<Column> fixed;
  std::vector<Column> varying;
  uint32_t bitmap_bytes = 0;
  uint32_t fixed_bytes = 0;        // bitmap and fixed columns
  uint32_t varying_bytes_max = 0;  // of the others, without what lies in the heap
};

// Bytes of a value of fixed width, 0 = varying.
uint32_t fixed_value_bytes(CellKind kind);
RowValues make_row_values(const TableSchema& schema, const TableLayout& layout, std::span<const uint32_t> columns);

// Kind, table and, for updates, the changed columns: what stands before the partition (2 bytes).
std::string row_change_prefix(RowChangeKind kind, TableId table, std::span<const uint32_t> columns);
// A string as it lies in redo; may write 8 bytes behind the end it returns.
char* put_text_value(char* out, const char* data, uint64_t size) noexcept;
// The columns that name a row: those of the primary key in index order, or the row id.
std::vector<uint32_t> identity_columns(const TableSchema& schema);

}  // namespace scyper::storage
