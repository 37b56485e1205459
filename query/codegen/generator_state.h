#pragma once

#include <cstdint>
#include <vector>

#include "bind/bound.h"
#include "codegen/tuple.h"
#include "codegen/value.h"
#include "ir/ir.h"

// The generator comes back to some places. It remembers for them: registers and blocks.
namespace scyper::query {

// Rows that a statement has changed, as far as foreign keys ask for them.
struct RowEvents {
  const BoundDml* dml;
  ir::Reg rows;  // RowBuffer*: old columns, new columns, with references the row's partition and tid
  size_t width;
};

// A loop of PL/pgSQL.
struct LoopBlocks {
  ir::Block exit, next;
  uint32_t for_loops = 0;  // around its body
};

// The rows of the round before, in a recursive query.
struct WorkingTable {
  ir::Reg store = ir::kNoReg;  // a variable
  std::vector<TupleField> fields;
  int64_t bytes = 0;
};

// The result of a subquery that runs once: variables.
struct OnceResult {
  ir::Reg is_known = ir::kNoReg;
  Value value;
  ir::Reg rows = ir::kNoReg;  // of IN: TupleStore*, null at first
};

}  // namespace scyper::query
