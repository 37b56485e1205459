#pragma once

#include "ir/ir.h"
#include "runtime/runtime.h"
#include "storage/change_log.h"

// PostgreSQL refuses to change a row that the statement's own triggers or functions have changed since it began: the
// statement has found the row as it was before.
namespace scyper::query {

// The rows of a statement's tables that somebody else has changed since the statement began: triggers and VOLATILE
// routines that it calls. In the transaction's memory.
struct TriggeredRows {
  // The statement's newest change that is known. Newer entries of the log are those of others.
  const storage::UndoEntry* known = nullptr;
  const int64_t* tables = nullptr;  // numbers of the tables whose rows count
  int64_t table_count = 0;
  KeyTable rows;  // partition, Tid; then 1: the row is new
};

// What the statement is about to do with a row: the error's words.
enum class RowTurn : uint8_t { kDelete, kUpdate, kMerge };
// TriggeredRows' answers.
constexpr int64_t kRowUntouched = 0;
constexpr int64_t kRowTouched = 1;
constexpr int64_t kRowNew = 2;  // no row of the statement

#define SCYPER_TRIGGERED_ROWS_FUNCTIONS(X)                                                                     \
  X(rt_triggered_open, kI32, 3, false)    /* context, table numbers[], count -> value[0] = TriggeredRows* */   \
  X(rt_triggered_restart, kI32, 2, false) /* context, TriggeredRows*: another statement begins */              \
  X(rt_triggered_note, kI32, 2, false)    /* context, TriggeredRows*: before the statement changes a row */    \
  X(rt_triggered_find, kI32, 4, false)    /* context, TriggeredRows*, TablePartition*, Tid -> value[0] */      \
  X(rt_check_untouched, kI32, 5, false)   /* context, TriggeredRows*, TablePartition*, Tid, RowTurn: 27000; -> \
                                             value[0]: kRowUntouched or kRowNew */

#define SCYPER_DECLARE_TRIGGERED_ROWS(name, result, words, pure) extern const ir::External k_##name;
SCYPER_TRIGGERED_ROWS_FUNCTIONS(SCYPER_DECLARE_TRIGGERED_ROWS)
#undef SCYPER_DECLARE_TRIGGERED_ROWS

}  // namespace scyper::query
