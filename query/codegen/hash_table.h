#pragma once

#include <memory>
#include <vector>

#include "codegen/generator.h"

// Hash tables as generated code sees them.
namespace scyper::query {

// One side of a join in a table: chains behind a directory (runtime/tuples.h), or an array (runtime/direct.h). Without
// keys all entries are in one chain: a nested loop.
struct Generator::JoinTable {
  Reg store = ir::kNoReg;
  std::vector<TupleField> keys;
  std::vector<bool> apart;  // by key: NULLs are compared
  StoredColumns columns;
  int64_t bytes = 0;
  int64_t flag = -1;    // offset of a byte: met a partner
  bool spills = false;  // may go to disk
  // arrays
  bool is_direct = false;
  int64_t present = -1;  // offset of a byte: there is a tuple
  Places places;
  Reg step = ir::kNoReg;
  Reg direct = ir::kNoReg;  // DirectTable*
  Reg place = ir::kNoReg;   // a variable: of the tuple at hand, where somebody asks
};

// Groups in a hash table: keys, then the states of the aggregates.
struct Generator::GroupTable {
  Reg store = ir::kNoReg;
  std::vector<TupleField> keys;    // of the hashed keys
  std::vector<TupleField> fields;  // of all keys, by position
  std::vector<bool> apart;         // by hashed key: may be NULL
  int64_t bytes = 0;
  bool spills = false;
  // Of one hashed key, an integer: groups by its value from places_from on, as far as there are places; one place more
  // for all others, which nobody reads. None: places is 0.
  int64_t places_from = 0;
  int64_t places = 0;
  Reg near = ir::kNoReg;
};

// Where an aggregate keeps its state: in registers without GROUP BY, in the group's tuple else. Small states for the
// common aggregates; the others have the 48 bytes of codegen/aggregate_state.h.
struct Generator::AggregateSlot {
  enum class Kind : uint8_t { kCount, kSum, kExtreme, kGeneric };
  Kind kind = Kind::kGeneric;
  ir::Type type = ir::Type::kVoid;  // of the count, sum or extreme
  bool checked = false;             // sums that could overflow
  int64_t offset = -1;              // in the tuple
  Reg variable = ir::kNoReg;
  int64_t frame = -1;  // of generic states without GROUP BY
  int keeper = -1;     // sums: the slot that has the state, where an aggregate before sums up the same
  // Slot that counts this aggregate's inputs; -1: that the group exists says that there was one; -2 - i: slot i,
  // which is raised together with this one.
  int counter = -1;
};

// Aggregates over the partners of a join's tuples.
struct Generator::GroupJoin {
  AggregateSlots slots;
  size_t rows = 0;  // the slot that counts the rows
  int64_t bytes = 0;
  Reg states = ir::kNoReg;  // for each place of the array
  std::shared_ptr<JoinTable> table;
};

}  // namespace scyper::query
