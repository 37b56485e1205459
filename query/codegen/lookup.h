#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "bind/bound.h"
#include "ir/ir.h"
#include "plan/access_path.h"

namespace scyper::query {

// A lookup whose key is known before the code that wants its row (codegen/prefetch.cc, codegen/lookup_batch.cc).
struct Lookup {
  const Relation* relation;
  AccessPath path;
  std::set<uint32_t> columns;             // needed in any case
  std::vector<const BoundExpr*> choices;  // CASEs whose conditions are known ahead: they choose further columns
  int64_t frame = -1;                     // Tids of the rounds that were looked up ahead; -1 = not remembered
  int64_t chunks = -1;  // the chunks they lie in, where cells are fetched a few rounds ahead; -1 = all at once
};

// Lookups of a loop's first rounds: what was found, for the loop itself. Only where its body cannot move the rows, but
// into another chunk: see open_row().
struct Remembered {
  const Relation* relation;
  ir::Reg round;  // I64 variable
  int64_t frame;  // Generator::kRoundsAhead Tids; kNotLookedUp = find it
  Lookup lookup;
  ir::Reg rounds;  // I64 variable: how many were looked up
};

}  // namespace scyper::query
