#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "storage/table.h"

namespace scyper::storage {

// Where the values of a column of a rebuilt table come from.
struct RebuiltColumn {
  int from = -1;              // position in the old table; -1: `values`
  std::vector<Datum> values;  // of the column's type: one for all rows, or one per row
};

// Whether the old table may lose its rows to the new one.
enum class RebuildMode {
  kCopies,  // both are whole: rows of the new one may change, and it may be dropped
  // Chunks, texts and indexes that stay as they are, are in both tables, where that is possible and no waste of memory.
  // Rows may change when the old table is released, or when the new one is destroyed.
  kShares,
};

// The rows of `old` under another definition with the same partitioning: ALTER TABLE. Rows keep their places; chunks
// that are not hot become hot ones. Row ids stay; where the new table has them and the old one had none, rows are
// numbered by primary key. With by_identity, values are given to the rows in the order of primary keys or row ids,
// partition after partition, else as they lie: the same on every node whatever the layout. On error (23505, 23502,
// 53200) there is no new table. Runs alone; pauses between rows where its thread's work does (pauses.h).
StatusOr<std::unique_ptr<Table>> rebuild_table(Table* old, TableSchema schema,
                                               const std::vector<RebuiltColumn>& columns, bool by_identity,
                                               Table::DatumFormatter format, RebuildMode mode);

}  // namespace scyper::storage
