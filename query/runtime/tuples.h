#pragma once

#include <cstdint>

#include "ir/ir.h"
#include "query/exec_context.h"
#include "storage/type.h"

// Memory of analytical operators: tuples of a fixed layout that generated code writes and reads field by field
// (codegen/tuple.h), in hash tables and buffers. Strings and arrays are pointers into cells or the transaction's
// memory.
namespace scyper::query {

// Starts of tuples in hash tables.
struct TupleEntry {
  TupleEntry* next;  // in the chain of its slot
  uint64_t hash;
};

// Tuples in chunks and, for hash tables, a directory of chains. A slot is the address of the chain's first entry in its
// low 48 bits and a filter above: bit hash & 15 is set for every entry of the chain (Leis et al., SIGMOD 2014). A
// slot's number is the hash's top bits. Generated code appends at `cursor` and inserts into groups' tables itself; the
// rest is done by functions below.
struct Spill;
struct TupleStore {
  struct alignas(16) Chunk {
    Chunk* next;
    char* end;    // of its tuples
    char* limit;  // of its memory
  };
  char* cursor = nullptr;
  char* limit = nullptr;  // of the chunk: cursor + tuple_bytes > limit: rt_tuples_grow()
  Chunk* first = nullptr;
  Chunk* last = nullptr;
  uint64_t* slots = nullptr;
  uint64_t shift = 63;
  int64_t count = 0;        // of groups; of other stores after rt_tuples_seal()
  int64_t count_limit = 0;  // groups: beyond, rt_groups_grow()
  int64_t tuple_bytes = 0;
  int64_t chunk_bytes = 0;
  Spill* spill = nullptr;  // may go to disk (runtime/spill.h)
  int64_t spilled = 0;     // some of it has: generated code asks
  int64_t bytes = 0;       // of all its chunks
  Chunk* spare = nullptr;  // chunks without tuples
};
constexpr int kTagShift = 48;
constexpr uint64_t kPointerMask = (uint64_t{1} << kTagShift) - 1;

// What ORDER BY compares, in the constant data.
struct TupleSortKey {
  SqlType type;
  int32_t offset;
  int32_t null_offset;  // -1: never NULL
  uint8_t descending;
  uint8_t nulls_first;
  uint8_t padding[6];
};

#define SCYPER_TUPLE_FUNCTIONS(X)                                                                               \
  X(rt_tuples_create, kI32, 2, false) /* context, bytes -> value[0] = TupleStore* */                            \
  X(rt_groups_create, kI32, 3, false) /* context, bytes, expected -> value[0], with slots */                    \
  X(rt_groups_array, kI32, 2, false)  /* context, places -> value[0] = as many null pointers */                 \
  X(rt_tuples_grow, kI32, 2, false)   /* context, store: room for a tuple at cursor */                          \
  X(rt_groups_grow, kI32, 2, false)   /* context, store: more slots */                                          \
  X(rt_tuples_seal, kVoid, 1, false)  /* store: before it is read by chunk */                                   \
  X(rt_tuples_clear, kVoid, 1, false) /* store: no tuples, memory kept for the next ones */                     \
  X(rt_join_build, kI32, 2, false)    /* context, store: slots for what was appended -> value[0] = the table */ \
  X(rt_hash_text, kI64, 2, true)                                                                                \
  X(rt_hash_char, kI64, 2, true)                                                                                \
  X(rt_hash_datum, kI64, 2, true) /* SqlType*, Datum* */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_TUPLE_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

constexpr int64_t kTuplesPerPoll = 1 << 15;  // of interrupts: about a millisecond

// For members of a team (runtime/team.h) and for spilling.
void rt_seal(TupleStore* store) noexcept;
int32_t make_join_slots(ExecContext* c, TupleStore* store) noexcept;  // of a sealed store
int32_t link_tuples(ExecContext* c, TupleStore* store) noexcept;      // into slots that make_join_slots() made
int32_t create_groups(ExecContext* c, int64_t bytes, int64_t expected, TupleStore** store) noexcept;
// Room for one more tuple; nullptr: no memory. Never goes to disk.
char* append_in_memory(ExecContext* c, TupleStore* store) noexcept;
// No tuples; the memory is kept for the next ones.
void empty_store(TupleStore* store) noexcept;
void link_shared(TupleStore* store, TupleStore::Chunk* first, TupleStore::Chunk* last) noexcept;
int32_t build_together(ExecContext* c, TupleStore* store) noexcept;

}  // namespace scyper::query
