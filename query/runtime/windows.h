#pragma once

#include "ir/ir.h"

// What generated code calls where TablePartition::chunks has null: the chunk is cold or frozen (docs/compaction.md).
// What it then reads lies in a window, as it would in a chunk: a tuple until the same place of the program opens the
// next one, a chunk until the same scan does. So texts from there are copied where they are kept (Value::stable).
namespace scyper::query {

#define SCYPER_WINDOW_FUNCTIONS(X)                                                                                  \
  X(rt_open_tuple, kI32, 4, false) /* context, TablePartition*, Tid, opening -> value[0..2] = chunk, offset, Tid */ \
  X(rt_open_chunk, kI32, 4, false) /* context, TablePartition*, Tid of its first position, opening -> value[0] =    \
                                      chunk, null: no row */                                                        \
  X(rt_make_hot, kI32, 3, false)   /* context, TablePartition*, Tid -> value[0] = Tid, -1: there is no such row */  \
  X(rt_delete_anywhere, kI32, 3, false)

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_WINDOW_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
