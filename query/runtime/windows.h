#pragma once

#include <cstdint>

#include "ir/ir.h"
#include "runtime/direct.h"
#include "storage/frozen_vector.h"

// What generated code calls where TablePartition::chunks has null: the chunk is cold or frozen (docs/compaction.md).
// What it then reads lies in a window, as it would in a chunk: a tuple until the same place of the program opens the
// next one, a chunk until the same scan does. So texts from there are copied where they are kept (Value::stable).
namespace scyper::query {

struct ExecContext;

// How the bounds of a condition are compared with its column.
enum class ChunkBound : uint8_t {
  kInteger,  // a number without scale, or what is ordered as one
  kNumeric,  // with a scale of its own
  kFloat,
  kWide,  // 128 bits
  kText,
};

// In the constant data: what frozen chunks are asked before their rows are. A scan checks its rows anyway, so that
// whatever cannot be told is left out.
struct ChunkCondition {
  uint32_t column = 0;
  storage::FrozenPredicate::Kind kind = storage::FrozenPredicate::Kind::kRange;
  ChunkBound bound = ChunkBound::kInteger;
  uint8_t low_included = 1;
  uint8_t high_included = 1;
  uint8_t has_alternative = 0;  // it or the next one
  uint8_t padding[3] = {};
  int32_t low = -1;  // numbers of bounds; -1: none
  int32_t high = -1;
};

// For tests: frozen chunks that scans of this context's thread came by, those without a row to read, and pieces of the
// others that were decoded, and that were still there from the round before.
struct WindowCounts {
  uint64_t chunks = 0;
  uint64_t skipped = 0;
  uint64_t decoded = 0;
  uint64_t kept = 0;
  uint64_t answered = 0;    // by their aggregates, no row was read
  uint64_t irrelevant = 0;  // of the skipped ones: by a hot data view
};
WindowCounts window_counts(const ExecContext& c) noexcept;

// Before compaction may go on: what scans have decoded is of images as they are.
void forget_scans(ExecContext* c) noexcept;

constexpr size_t kChunkAggregatesMax = 64;  // that a scan wants of whole chunks

// In the constant data: a filter that a join gives to the scan (runtime/direct.h), by columns whose cells are integers.
struct ChunkFilter {
  uint32_t count = 0;  // of keys
  uint32_t columns[kDirectKeysMax] = {};
};

// Where the tuple is that was at `tid` when the running transaction found it: it may have moved it since.
storage::Tid present_tid(const ExecContext* context, const storage::TablePartition* partition,
                         storage::Tid tid) noexcept;

#define SCYPER_WINDOW_FUNCTIONS(X)                                                                                   \
  X(rt_open_tuple, kI32, 4, false)  /* context, TablePartition*, Tid, opening -> value[0..2] = chunk, offset, Tid */ \
  X(rt_open_chunk, kI32, 11, false) /* context, TablePartition*, Tid of its first position, is it open?, opening,    \
                                       ChunkCondition[], count, Datum[]: bounds, ChunkFilter[], count, JoinFilter*[] \
                                       -> value[0..3] = chunk, null: no row is left; Tid of its position 0; the      \
                                       positions [from, to) to read */                                               \
  X(rt_aggregate_chunk, kI32, 9, false) /* context, TablePartition*, Tid of its first position, ChunkCondition[],    \
                                           count, Datum[]: bounds, ChunkAggregate[], count, results: 128 bits each   \
                                           -> value[0] = were they told? */                                          \
  X(rt_make_hot, kI32, 3, false) /* context, TablePartition*, Tid -> value[0] = Tid, -1: there is no such row */     \
  X(rt_delete_anywhere, kI32, 3, false)

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_WINDOW_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
