#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "plan/explain_options.h"
#include "query/exec_context.h"
#include "query/program.h"
#include "storage/change_log.h"
#include "storage/table.h"

// What generated code calls. All functions are noexcept and take 64-bit words (ir::External). Those that return int32
// give 0 or leave their error in the context and give Outcome::kError; wide results go to ExecContext::value.
namespace scyper::query {

struct ForeignTable;

enum class RuntimeError : int64_t {
  kInt2Range,
  kInt4Range,
  kInt8Range,
  kNumericOverflow,
  kDivisionByZero,
  kNoRows,        // P0002
  kTooManyRows,   // P0003
  kSubqueryRows,  // 21000
  kNoReturn,      // 2F005
  kNegativeLimit,
  kNegativeOffset,
  kNullLoopFrom,
  kNullLoopTo,
  kNullLoopStep,
  kLoopStep,
  kSeriesStep,
  kNullForEach,
  kNullAssignment,
  kNullSubscript,
  kConflictTwice,
  kMergeTwice,
  kNullStatement,  // EXECUTE
};

// How one place of a program reads a table's chunks that are not hot (runtime/windows.h).
struct ChunkOpening {
  const storage::Table* table = nullptr;
  bool is_scan = false;
  uint32_t window = 0;            // number within the program; tuples of one table share one, scans have their own
  uint32_t place = 0;             // in it: the first of storage::NeighbourReader::kAtOnce for tuples
  std::vector<uint32_t> columns;  // that the code behind it reads
};

// What a compiled program needs by number, because it is no plain constant.
struct ProgramResources {
  struct CallSite {
    uint32_t callee;
    std::vector<std::optional<Route>> arguments;  // where an argument is one of the caller's own
  };
  Footprint footprint;              // without what callees touch
  std::vector<bool> callee_writes;  // what is known of them beforehand; a missing one may write
  std::vector<CallSite> calls;
  std::vector<std::shared_ptr<storage::Table>> tables;
  std::vector<std::unique_ptr<storage::UpdateDescriptor>> updates;  // addresses are kept in undo entries
  // Unique indexes that are looked up by their whole key: they want a hash companion.
  std::vector<std::pair<std::shared_ptr<storage::Table>, size_t>> point_indexes;
  std::vector<ChunkOpening> openings;
  uint32_t windows = 0;
  std::vector<std::shared_ptr<const ForeignTable>> foreign;
  uint32_t foreign_places = 0;  // where they are read
  bool can_share = false;       // several threads may run the program together (runtime/team.h)
  double shared_from_ns = 2e6;  // of estimated work: shorter queries are one thread's
  double filter_from_ns = 1e6;  // estimated saving from which a join's table gives a filter to a scan
  double spill_from_bytes = 0;  // of tuples that an operator is estimated to keep: it can go to disk; 0 = none can
  bool can_spill = false;       // some operator has code for that
  bool passes_swaps = false;    // tests: asks at each swap point whether to change there
  double work_ns = 0;           // what the planned queries are estimated to cost
  // EXPLAIN: the plans of the queries, as they are generated.
  bool explains = false;
  ExplainOptions explain_options;
  std::string planning_time;  // ms
  std::string plan;
};

// Rows of Datums in the transaction's memory. Generated code reads `rows` and `count`.
struct RowBuffer {
  Datum* rows = nullptr;
  int64_t count = 0;
  int64_t capacity = 0;
  int64_t width = 0;
  const SqlType* types = nullptr;
};

// One output of ORDER BY, in the constant data.
struct SortKey {
  uint32_t column;
  uint8_t descending;
  uint8_t nulls_first;
  uint16_t padding;
};

// Rows of Datums found by their first columns (the key). Entries keep their order of arrival. Serves GROUP BY,
// DISTINCT, hash joins and set operations. NULLs are equal to each other here.
struct KeyTable {
  struct Entry {
    uint64_t hash;
    Entry* next_in_bucket;
    Entry* next;        // in order of arrival
    Entry* next_equal;  // hash joins: further rows of the same key
    Datum row[1];
  };
  Entry** buckets = nullptr;
  uint64_t bucket_count = 0;
  int64_t count = 0;
  Entry* first = nullptr;
  Entry* last = nullptr;
  int64_t key_width = 0;
  int64_t width = 0;
  const SqlType* types = nullptr;  // of the whole row
};

// Rows whose columns are known when they run: of dynamic SQL and cursors. In the transaction's memory.
struct RowSet {
  RowBuffer* buffer = nullptr;
  const Datum* names = nullptr;  // texts, one per column
};
constexpr int64_t kNoRow = -1;      // instead of one of its rows: NULLs
constexpr int64_t kEmptyLoop = -2;  // NULLs after a loop over no rows: nobody has read a field that is not there

// An open cursor. position: 0 before the first row, count + 1 behind the last.
struct Portal {
  Portal* next = nullptr;
  Datum name;
  RowSet rows;
  int64_t position = 0;
  int64_t options = 0;
};
constexpr int64_t kPortalScrolls = 1;
constexpr int64_t kPortalTracks = 2;  // its rows hold what identifies those of its tables, where they can be told
constexpr int64_t kPortalLocks = 4;   // its query has FOR UPDATE or the like

#define SCYPER_RUNTIME_FUNCTIONS(X)                                                                                    \
  /* name, result type, words, pure */                                                                                 \
  X(rt_fail, kI32, 2, false)        /* context, RuntimeError */                                                        \
  X(rt_interrupted, kI32, 1, false) /* context: the error of ExecContext::interrupt */                                 \
  X(rt_feed_next, kI32, 1, false)   /* context -> value[0]: the row of ExecContext::feed, 0 at its end */              \
  X(rt_copy_text, kI32, 3, false)   /* context, data, size -> value[0] */                                              \
  X(rt_copy_array, kI32, 2, false)  /* context, array -> value[0] */                                                   \
  X(rt_compare_text, kI32, 4, true) /* data, size, data, size -> <0, 0, >0 */                                          \
  X(rt_equal_text, kI8, 4, true)                                                                                       \
  X(rt_compare_char, kI32, 4, true) /* char(n): trailing blanks do not count */                                        \
  X(rt_equal_char, kI8, 4, true)                                                                                       \
  X(rt_char_text_size, kI64, 2, true)         /* data, size: size without trailing blanks */                           \
  X(rt_text_contains, kI8, 4, true)           /* data, size, part, size */                                             \
  X(rt_text_prefix, kI64, 3, true)            /* data, size, characters: bytes of the first ones */                    \
  X(rt_text_ascii, kI32, 2, true)             /* ascii() */                                                            \
  X(rt_concat, kI32, 5, false)                /* context, data, size, data, size -> value[0..1] */                     \
  X(rt_compare_array, kI32, 4, true)          /* array, array, SqlType of elements as data, unused */                  \
  X(rt_compare_interval, kI32, 4, true)       /* lo, hi, lo, hi */                                                     \
  X(rt_decimal, kI32, 8, false)               /* context, BuiltinOp, lo, hi, scale, lo, hi, scale -> value[0..2] */    \
  X(rt_decimal_compare, kI32, 6, true)        /* lo, hi, scale, lo, hi, scale */                                       \
  X(rt_decimal_rescale, kI32, 6, false)       /* context, lo, hi, scale, precision, to scale -> value[0..1]; 22003 */  \
  X(rt_cast, kI32, 6, false)                  /* context, Datum*, SqlType* from, SqlType* to, explicit, Datum* out */  \
  X(rt_float, kI32, 4, false)                 /* context, BuiltinOp, bits, bits -> value[0] */                         \
  X(rt_find_conflict, kI64, 3, true)          /* TablePartition*, tid, indexes: the row in its way, -1 */              \
  X(rt_index_find, kI64, 4, true)             /* TablePartition*, index, key, size -> Tid */                           \
  X(rt_index_prefetch, kVoid, 4, false)       /* TablePartition*, index, key, size */                                  \
  X(rt_index_find_words, kI64, 5, true)       /* TablePartition*, index, size, key as two words -> Tid */              \
  X(rt_index_prefetch_words, kVoid, 4, false) /* TablePartition*, index, key as two words */                           \
  X(rt_index_seek, kVoid, 8, false) /* TablePartition*, index, cursor, lo, lo size, hi, hi size, flags: 1 backward, 2  \
                                       lo exclusive, 4 hi exclusive */                                                 \
  X(rt_index_next, kI64, 3, false)  /* TablePartition*, index, cursor -> Tid */                                        \
  X(rt_index_next_many, kI64, 5, false) /* TablePartition*, index, cursor, Tids, how many at most -> how many */       \
  X(rt_key_text, kI64, 5, false) /* out, data, size, char(n)?, KeyFlags -> bytes written, -1: no row has such a key */ \
  X(rt_key_bytea, kI64, 4, false)       /* out, data, size, KeyFlags -> bytes written, -1: no row has such a key */    \
  X(rt_key_decimal, kI64, 5, false)     /* out, lo, hi, scale, descending? -> bytes written */                         \
  X(rt_insert_begin, kI64, 2, false)    /* context, TablePartition* -> Tid; kNoTid: error */                           \
  X(rt_insert_finish, kI32, 3, false)   /* context, TablePartition*, Tid */                                            \
  X(rt_insert_abandon, kVoid, 3, false) /* context, TablePartition*, Tid */                                            \
  X(rt_insert_key, kI32, 4, false)      /* context, TablePartition*, index, Tid: the row's redo is written */          \
  X(rt_insert_words, kI32, 6, false)    /* context, TablePartition*, index, key as two words, Tid */                   \
  X(rt_undo_room, kI32, 2, false)       /* context, bytes: ChangeLogHead has not so many */                            \
  X(rt_redo_room, kI32, 2, false)                                                                                      \
  X(rt_put_text, kI64, 3, false)     /* out, data, size -> address behind: a string in redo */                         \
  X(rt_store_text, kI32, 6, false)   /* context, TablePartition*, cell, column, data, size */                          \
  X(rt_store_cell, kI32, 5, false)   /* context, TablePartition*, cell, column, Datum* (arrays) */                     \
  X(rt_load_cell, kI32, 4, false)    /* context, TablePartition*, Tid, column -> value[0] (arrays) */                  \
  X(rt_update_begin, kI32, 4, false) /* context, TablePartition*, Tid, descriptor */                                   \
  X(rt_update_finish, kI32, 4, false)                                                                                  \
  X(rt_delete, kI32, 3, false)           /* context, TablePartition*, Tid */                                           \
  X(rt_emit, kI32, 2, false)             /* context, Datum row[] */                                                    \
  X(rt_rows_create, kI32, 3, false)      /* context, SqlType types[], width -> value[0] = RowBuffer* */                \
  X(rt_rows_append, kI32, 3, false)      /* context, RowBuffer*, Datum row[]; copies what it points to */              \
  X(rt_rows_same, kI8, 3, true)          /* RowBuffer*, row, columns: does the row equal the one before? */            \
  X(rt_aggregate_step, kI32, 5, false)   /* context, state, AggregateKind, Datum args[], SqlType of the first */       \
  X(rt_aggregate_finish, kI32, 5, false) /* context, state, AggregateKind, SqlType of the first, Datum* out */         \
  X(rt_ordered_begin, kI32, 4, false)    /* context, state, Datum* fraction or null, its SqlType */                    \
  X(rt_ordered_add, kI32, 4, false)      /* context, state, Datum* value, its SqlType */                               \
  X(rt_ordered_finish, kI32, 6, false) /* context, state, AggregateKind, SqlType of values, descending, Datum* out */  \
  X(rt_ordered_set, kI32, 5, false)    /* context, AggregateKind, sorted RowBuffer*, SortKey[], Datum* out */          \
  X(rt_rows_pass_limit, kI8, 5, false) /* RowBuffer*, SortKey keys[], their number, limit, offset */                   \
  X(rt_rows_sort, kI32, 4, false)      /* context, RowBuffer*, SortKey keys[], count */                                \
  X(rt_table_create, kI32, 4, false)   /* context, SqlType types[], width, key width -> value[0] = KeyTable* */        \
  X(rt_table_find, kI32, 4,                                                                                            \
    false) /* context, KeyTable*, Datum key[], insert? -> value[0] = Entry* or 0, value[1] = new */                    \
  X(rt_table_add, kI32, 3, false)    /* context, KeyTable*, Datum row[]: duplicates chained by next_equal */           \
  X(rt_array_make, kI32, 4, false)   /* context, SqlType of elements, Datum items[], count -> value[0] */              \
  X(rt_array_get, kI64, 2, true)     /* array, index -> Datum* or 0 */                                                 \
  X(rt_array_set, kI32, 5, false)    /* context, array or 0, index, Datum*, SqlType of elements -> value[0] */         \
  X(rt_array_append, kI32, 4, false) /* context, array or 0, Datum*, SqlType of elements -> value[0] */                \
  X(rt_string_agg, kI32, 5, false)   /* context, Datum* state, data, size, Datum* delimiter */                         \
  X(rt_call, kI32, 4, false)         /* context, callee, Datum args[], Datum results[] */                              \
  X(rt_mark, kVoid, 2, false)        /* context, storage::ChangeLog::Mark* */                                          \
  X(rt_rollback_to, kVoid, 2, false)                                                                                   \
  X(rt_catchable, kI8, 3, false)     /* context, states (six bytes each), count: does the handler take the error? */   \
  X(rt_error_fields, kI32, 2, false) /* context, Datum out[]: kErrorFields of bind/bound.h; clears the error */        \
  X(rt_raise, kI32, 7, false) /* context, level, format, size, Datum args[], count, Datum options[]: kRaiseOptions */  \
  X(rt_execute, kI32, 7, false)          /* context, text, size, Datum args[], SqlType types[], count, wants rows? ->  \
                                            value[0] = RowSet*, value[1] = rows, value[2] = may it have an INTO? */    \
  X(rt_note_transition, kVoid, 2, false) /* place, address: for rt_execute() */                                        \
  X(rt_rows_match, kI32, 4, false)       /* context, RowSet*, SqlType of the columns to return[], count */             \
  X(rt_rows_fetch, kI32, 6, false)   /* context, RowSet*, row, SqlType to[], count, Datum out[]: as an assignment */   \
  X(rt_rows_fields, kI32, 6, false)  /* context, RowSet*, row, names (each ended by 0), count, Datum out[]: as text */ \
  X(rt_row_set, kI32, 3, false)      /* context, RowBuffer*, names (each ended by 0) -> value[0] = RowSet* */          \
  X(rt_portal_open, kI32, 4, false)  /* context, RowSet*, Datum* name (given or made), options */                      \
  X(rt_portal_fetch, kI32, 5, false) /* context, Datum* name, FetchDirection, Datum* count, move? -> value[0] =        \
                                        RowSet*, value[1] = row or -1, value[2] = rows moved over */                   \
  X(rt_portal_close, kI32, 2, false) /* context, Datum* name */                                                        \
  X(rt_portal_current, kI32, 5, false)  /* context, Datum* name, first column and table, columns, Datum out[] */       \
  X(rt_end_transaction, kI32, 3, false) /* context, commit?, inside EXCEPTION blocks? */                               \
  X(rt_count_rows, kVoid, 2, false)     /* context, rows: for the command tag */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_RUNTIME_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

// KeyFlags of rt_key_text and rt_key_bytea. A bound of a range that is longer than any row's key is the place between
// the rows' keys where it would lie.
constexpr int64_t kKeyDescending = 1;
constexpr int64_t kKeyBound = 2;
constexpr int64_t kKeyTrailed = 4;  // bytes with a trailer (storage/trailer.h)

}  // namespace scyper::query
