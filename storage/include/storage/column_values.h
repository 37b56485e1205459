#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/sequence.h"
#include "storage/table.h"

// Values of one column for the rows of a table, as the log carries them behind the text of a definition that has drawn
// them (docs/redo_format.md, "Values of a definition"). There is one value for all rows, or one for each row in the
// order of identity: partition after partition, by primary key or row id. That order is the same on every node.
namespace scyper::storage {

// Appends them. The values have the column's type. Threads: nobody changes the table meanwhile; pauses between two rows
// where its thread's work does (pauses.h).
void append_column_values(const Table& table, const SqlType& type, std::span<const Datum> values, std::string* out);

// What was read. Strings point into the bytes, arrays into this.
struct ColumnValues {
  struct Array {
    ArrayValue value;
    std::vector<Datum> elements;
  };
  std::vector<Datum> values;
  std::deque<Array> arrays;
};
// may_lack: the node holds some partitions only, so values of partitions without rows are left out. XX001: the bytes
// are damaged, or are not of the rows that the table has.
StatusOr<ColumnValues> read_column_values(std::string_view bytes, const Table& table, const SqlType& type,
                                          bool may_lack);

// At i: where the i-th row in the order of identity stands among the rows as they lie. Errors: of reading cold rows.
// Threads: as above.
StatusOr<std::vector<size_t>> places_by_identity(const Table& table);

// A sequence's state as a row change.
void append_sequence_state(SequenceId id, const SequenceState& state, std::string* out);

}  // namespace scyper::storage
