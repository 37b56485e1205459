#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/cell.h"
#include "storage/key.h"
#include "storage/row_values.h"
#include "storage/schema.h"

namespace scyper::storage {

enum class KeyForm : uint8_t {
  kBool,
  kInt16,
  kInt32,
  kInt64,
  kInt128,
  kFloat64,
  kDecimal,
  kString,
  kPadded,
  kBytea,
  kTrailed
};

// One column of an index key, read from a tuple.
struct KeyPart {
  ColumnAccess access;
  KeyForm form;
  bool descending;
  uint32_t value_bytes;  // 0 = varies
};

struct IndexPlan {
  std::vector<KeyPart> parts;
  bool unique = false;
  bool partial = false;   // no entry where the first part is NULL
  bool nullable = false;  // some key column may be NULL
  bool simple = false;    // fixed width, no NULLs, all ascending
  std::vector<uint32_t> columns;
  uint32_t key_bytes = 0;       // of an entry of the ordered index; 0 = varies
  uint32_t hash_key_bytes = 0;  // the same without NULLs and Tid
};

struct ColumnPlan {
  ColumnAccess access;
  SqlType type;
};

// What the tuple operations need to know of a table, worked out once per schema version.
// Owner: Table; changes only while the table is at rest.
struct RowPlan {
  const TableSchema* schema = nullptr;
  uint32_t live_offset = 0;
  uint32_t free_offset = 0;
  uint32_t chunk_bytes = 0;
  int32_t row_id_column = -1;  // -1 = none
  bool is_logged = true;       // has redo: no temporary table
  std::vector<IndexPlan> indexes;
  std::vector<ColumnPlan> columns;
  std::vector<ColumnPlan> payloads;  // columns that may refer to the heap
  std::vector<uint32_t> all_columns;
  std::vector<uint32_t> key_columns;  // of `key`
  RowValues row;                      // of an insert, and what digests hash
  RowValues key;                      // what names a row in redo
  std::string insert_prefix;
  std::string delete_prefix;
};

// The index of the primary key; none: __row_id names the rows.
inline std::optional<uint32_t> primary_index(const TableSchema& schema) {
  for (uint32_t i = 0; i < schema.indexes.size(); ++i) {
    if (schema.indexes[i].primary) return i;
  }
  return std::nullopt;
}

StatusOr<RowPlan> make_row_plan(const TableSchema& schema, const TableLayout& layout);

}  // namespace scyper::storage
