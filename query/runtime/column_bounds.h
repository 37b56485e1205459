#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "ir/ir.h"
#include "query/exec_context.h"

// The least and largest values of columns, read where a query asks for them and as far as it needs them: a comparison
// between two columns (or with a constant) that no row passes says that a join gives nothing before it is begun. Kept
// for as long as nobody changes the tables, so in a snapshot each value is read once; transactions pay nothing. Source:
// Moerkotte: Small Materialized Aggregates (VLDB 1998). We differ: one pair for a table, read from its newest chunk on
// and no further than where the comparison may hold.
// Scans ask, too: of a hot chunk a range of a column is looked for step by step before its rows are read one by one.
// Where no row has a value of it, the chunk's least and largest value are known, and kept.
namespace scyper::query {

// In the constant data. left op right; right_table < 0: the right side is `constant`.
struct ColumnComparison {
  int64_t op = 0;                           // BuiltinOp
  int64_t left_table = 0, left_column = 0;  // tables by their number in the program
  int64_t right_table = -1, right_column = 0;
  int64_t constant = 0;
};

// Threads: any. Columns are those whose cells are integers of up to 64 bits.
class ColumnBounds {
 public:
  // While it lives, what its thread runs uses these: nobody changes the tables meanwhile. Not nested.
  class Scope {
   public:
    explicit Scope(ColumnBounds* bounds) noexcept { current = bounds; }
    ~Scope() { current = nullptr; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
  static inline constinit thread_local ColumnBounds* current = nullptr;

  // Can no row of the tables pass? False where that is not known: the comparison may hold, or the query is to end.
  bool exclude(const ExecContext& context, const ColumnComparison& comparison) noexcept;
  // For tests: chunks that were read whole, and those that scans passed over.
  uint64_t chunks_read() const { return chunks_read_; }
  uint64_t chunks_skipped() const { return chunks_skipped_; }

  // Values of an integer column, both ends included.
  struct Span {
    int64_t low = INT64_MIN, high = INT64_MAX;
  };
  // Has a row of the chunk that begins at `first`, which is hot, such a value? `bounds`: where its bounds are kept,
  // null: nowhere, as somebody may change the table later.
  static bool has_value(ColumnBounds* bounds, const storage::TablePartition& partition, storage::Tid first,
                        uint32_t column, Span span) noexcept;
  void count_skipped();

 private:
  using Partitions = storage::TablePartition* const*;
  // Of the values in chunks that were read; NULLs do not count.
  struct Range {
    int64_t least = INT64_MAX, largest = INT64_MIN;
    bool is_empty = true;
    bool is_complete = false;
    uint32_t partition = 0;  // where to go on: its chunks below `chunks_left`
    uint32_t chunks_left = 0;
    void add(std::pair<int64_t, int64_t> bounds);
  };
  Range* open(Partitions partitions, uint32_t column);
  void read_more(Partitions partitions, uint32_t column, Range* range);

  std::mutex mutex_;  // what follows; held for one chunk at a time
  std::map<std::pair<const storage::Table*, uint32_t>, Range> ranges_;
  std::map<std::pair<const storage::TablePartition*, uint32_t>, std::map<uint64_t, Span>> chunks_;
  uint64_t chunks_read_ = 0;
  uint64_t chunks_skipped_ = 0;
};

// rt_bounds_exclude: context, ColumnComparison[], count, together? -> value[0]: does one of them exclude all rows?
// rt_chunk_excluded: context, TablePartition*, first Tid, ChunkCondition[], count, bounds -> value[0]: can no row of
// the hot chunk pass?
#define SCYPER_BOUNDS_FUNCTIONS(X)     \
  X(rt_bounds_exclude, kI32, 4, false) \
  X(rt_chunk_excluded, kI32, 6, false)

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_BOUNDS_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
