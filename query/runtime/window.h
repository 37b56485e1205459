#pragma once

#include <cstdint>

#include "bind/window.h"
#include "ir/ir.h"
#include "query/exec_context.h"
#include "runtime/tuples.h"

// Window functions over sorted tuples, partition after partition (Leis et al.: Efficient Processing of Window Functions
// in Analytical SQL Queries, VLDB 2015). Ranks and values of other rows are computed here; aggregates by generated
// code, which asks here for the rows of each frame. Sums and counts come from prefix sums, extremes from a segment
// tree, other aggregates from running states where frames only grow. We differ: prefix sums instead of a tree for what
// can be subtracted.
namespace scyper::query {

// A field of the tuples; offset -1: there is none.
struct WindowField {
  SqlType type;
  int32_t offset = -1;
  int32_t null_offset = -1;  // -1: never NULL
  int32_t bytes = 0;         // of the value
  int32_t padding = 0;
};

// One window call, in the constant data.
struct WindowSpec {
  WindowKind kind;
  FrameShape frame;
  uint8_t counts_only = 0;  // sums: no value is summed
  uint8_t smallest = 0;     // extremes
  uint8_t takes_last = 0;   // extremes: of equal ones
  uint8_t range_descending = 0;
  uint8_t range_nulls_first = 0;
  uint8_t padding[6] = {};
  WindowField value;      // the first argument
  WindowField number;     // of ntile, lag, lead, nth_value
  WindowField otherwise;  // of lag, lead
  WindowField result;     // not of aggregates
  WindowField filter;     // boolean, never NULL
  WindowField start_offset, end_offset;
  WindowField key;  // RANGE with offsets: the column that is ordered by
};

// Of one window node. Rows are numbered within the partition. Generated code reads `partition`, `count` and the ranges.
struct WindowRun {
  static constexpr int64_t kRanges = 3;
  char** partition = nullptr;  // tuples of the partition, in order
  int64_t count = 0;
  // rows that the aggregate has yet to see: all of the frame's, or those it has grown by
  int64_t range_begin[kRanges] = {};
  int64_t range_end[kRanges] = {};

  char** tuples = nullptr;
  int64_t tuple_count = 0;
  int64_t next = 0;  // first tuple of the next partition
  const TupleSortKey* keys = nullptr;
  int64_t partition_keys = 0, order_keys = 0;
  int64_t capacity = 0;  // of the arrays below, in rows
  int64_t* peer_begin = nullptr;
  int64_t* peer_end = nullptr;
  int64_t* group = nullptr;        // number of a row's peer group
  int64_t* group_begin = nullptr;  // first row of each
  int64_t groups = 0;
  int64_t* frame_begin = nullptr;
  int64_t* frame_end = nullptr;
  // of the aggregate at hand
  const WindowSpec* spec = nullptr;
  struct Ranges {
    int64_t count = 0;
    int64_t begin[kRanges] = {}, end[kRanges] = {};
  };
  Ranges last;
  bool has_last = false;
  __int128* sums = nullptr;  // prefix sums, one more than rows
  int64_t* counts = nullptr;
  int64_t sum_capacity = 0;
  int64_t* tree = nullptr;  // winners by segment, -1: none
  int64_t tree_capacity = 0, tree_leaves = 0;
  int64_t winner = -1;  // of the last frame
};

#define SCYPER_WINDOW_VALUES(X)                                                                                        \
  X(rt_window_create, kI32, 7, false)    /* context, the run of the tuples before or 0, tuples, count, TupleSortKey[], \
                                            keys of the partition, keys of    the order -> value[0] = WindowRun* */    \
  X(rt_window_partition, kI32, 2, false) /* context, run: the next one -> value[0] = is there one? */                  \
  X(rt_window_values, kI32, 3, false)    /* context, run, WindowSpec*: a call that is no aggregate */
#define SCYPER_WINDOW_AGGREGATES(X)                                                                         \
  X(rt_window_aggregate, kI32, 4, false) /* context, run, WindowSpec*, WindowMethod: before its rows */     \
  X(rt_window_row, kI64, 2, false)       /* run, row: kSameFrame, kFrameGrew, kNewFrame; sets the ranges */ \
  X(rt_window_sum, kVoid, 3, false)      /* run, row, aggregate state */                                    \
  X(rt_window_extreme, kI32, 3, false)   /* context, run, aggregate state: of the row asked for last */

enum class WindowMethod : int64_t { kStep, kSum, kExtreme };
constexpr int64_t kSameFrame = 0, kFrameGrew = 1, kNewFrame = 2;

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_WINDOW_VALUES(SCYPER_DECLARE_RUNTIME)
SCYPER_WINDOW_AGGREGATES(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
