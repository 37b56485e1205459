#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/schema.h"
#include "storage/sequence.h"
#include "storage/type.h"

namespace scyper::storage {

// kDefinition: a definition among the changes, its text, then the rows that it made as any others; RowChangeReader
// does not give it.
enum class RowChangeKind : uint8_t { kInsert = 1, kUpdate = 2, kDelete = 3, kSequence = 4, kDefinition = 5 };

// One row change of a physical redo record.
struct RowChange {
  RowChangeKind kind = RowChangeKind::kInsert;
  TableId table;
  uint32_t partition = 0;
  std::vector<Datum> key;  // update, delete: what names the row before the change: the primary key's columns in index
                           // order, or the row id
  std::vector<uint32_t> columns;  // insert: all, with __row_id; update: the changed ones
  std::vector<Datum> values;      // of `columns`
  SequenceId sequence;            // kSequence: a sequence and its state, nothing else
  SequenceState state;
};

// Reads the row changes that a ChangeLog wrote (docs/redo_format.md). The bytes may come from a damaged disk or
// network: what does not fit gives XX001, and nothing outside of them is read.
class RowChangeReader {
 public:
  // nullptr for an unknown table.
  using SchemaLookup = std::function<const TableSchema*(TableId)>;
  RowChangeReader(std::string_view bytes, SchemaLookup lookup);
  ~RowChangeReader();

  // false at the end. Strings of *change point into the bytes, arrays into the reader: valid until the next call.
  StatusOr<bool> next(RowChange* change);

 private:
  struct Input;
  SchemaLookup lookup_;
  std::unique_ptr<Input> input_;
};

}  // namespace scyper::storage
