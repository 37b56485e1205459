#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "bind/bound.h"
#include "codegen/tuple.h"
#include "codegen/value.h"
#include "ir/ir.h"
#include "plan/plan.h"
#include "storage/chunk_cursor.h"

namespace scyper::query {

// Where a relation's current row is.
struct RowSource {
  const Relation* relation = nullptr;
  // tables
  ir::Reg partition = ir::kNoReg;  // TablePartition*
  ir::Reg tid = ir::kNoReg;
  ir::Reg chunk = ir::kNoReg;
  ir::Reg offset = ir::kNoReg;
  ir::Reg window = ir::kNoReg;  // the chunk, where it is not hot, else null; none: it is not known to be hot
  int opening = -1;             // ProgramResources::openings: how it is read where the chunk is not hot
  std::vector<std::pair<uint32_t, ir::Reg>> known;  // columns whose values the access fixed: found by a key
  // rows of Datums (materialised)
  ir::Reg row = ir::kNoReg;
  std::vector<int> slots;  // column -> Datum position in row, -1 = absent
  // fields of a tuple, by column
  ir::Reg tuple = ir::kNoReg;
  std::map<uint32_t, TupleField> fields;
  // values in registers
  std::vector<Value> values;
  bool absent = false;  // the row of NULLs of an outer join
};

// Of a frozen chunk of which all rows pass, or those that codes can tell, a reader takes aggregates instead of rows.
struct WholeChunks {
  const PlanNode* scan = nullptr;
  std::vector<storage::ChunkAggregate> wanted;
  std::function<void(ir::Reg results)> add;  // 128 bits for each
};

// What rows of a scan have to pass: those that do not need not come.
struct ScanWish {
  std::vector<const BoundExpr*> conjuncts = {};
  const std::vector<ScanFilter>* filters = nullptr;  // of joins to come
  const WholeChunks* whole = nullptr;                // none: rows are wanted
};

// RowBuffer* of the rows that a statement has changed, for the triggers AFTER it; none: nobody asks for them.
struct AfterRows {
  ir::Reg rows = ir::kNoReg;                             // old and new side by side: for triggers per row
  ir::Reg old_rows = ir::kNoReg, new_rows = ir::kNoReg;  // transition tables
};

// What a scan reads next of a chunk.
struct OpenPiece {
  ir::Reg base;    // Tid of position 0
  ir::Reg end;     // behind the last position
  ir::Block next;  // where to go from there
};

}  // namespace scyper::query
