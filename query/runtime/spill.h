#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/ir.h"
#include "runtime/spill_space.h"
#include "runtime/tuples.h"

// Stores of tuples that go to disk when their query has no memory left: hash tables by partition (Grace hash join),
// what is sorted as sorted runs. Tuples are written as they are: what they point to (cells, the query's memory) stays
// where it is. Partitions come back one after the other; one that is still too large is cut again by other bits of the
// hash; one that no bits cut must fit the query's memory (53200). Threads of a team cut alike; each takes back its own
// share of the partitions, from the files of all. Source: Kitsuregawa et al., Application of Hash to Data Base Machine
// (1983); Graefe, Query Evaluation Techniques (1993).
namespace scyper::query {

constexpr size_t kSpillParts = 16;
constexpr int kSpillLevels = 9;  // four bits each, above those of the filter

struct Spill {
  using Parts = std::array<SpillPart, kSpillParts>;
  struct Task {  // a partition
    std::vector<SpillPart*> tuples, rows;
    int level = 1;
  };
  bool is_sorted = false;
  int64_t chunk_bytes_max = 0;
  // hash tables
  Parts tuples, rows;         // rows: of the side that probes a join's table, their hash first
  size_t row_bytes = 0;       // of the rows that this thread put aside; others read it
  size_t task_row_bytes = 0;  // of those in its tasks, whoever put them aside
  std::vector<Task> tasks;    // partitions to come
  bool has_begun = false, announced = false;
  SpillReader reader;
  // sorted runs, in the order in which their tuples came
  const TupleSortKey* keys = nullptr;
  int64_t key_count = 0;
  int64_t keep = -1;     // no more are wanted of all
  int64_t together = 0;  // so many keys hold tuples together: they leave in one batch
  std::vector<SpillPart*> runs;
  struct RunMerge* merge = nullptr;
  struct SortItem* items = nullptr;  // for sorting
  struct SortItem* other_items = nullptr;
  int64_t item_capacity = 0;
};

// Before a store takes another chunk: is the query's memory used up?
bool must_leave_memory(const ExecContext& c, const TupleStore& store) noexcept;
// Its tuples go to disk; their chunks take the next ones.
int32_t leave_memory(ExecContext* c, TupleStore* store) noexcept;
// In a team: has anybody's gone to disk? What announce() said before the stores were exchanged.
void announce(TupleStore* store) noexcept;
bool has_announced(TupleStore* const* stores, uint32_t count) noexcept;
int32_t leave_finally(ExecContext* c, TupleStore* store) noexcept;  // before others read what is on disk
int32_t write_run(ExecContext* c, TupleStore* store) noexcept;      // runtime/tuple_sort.cc

#define SCYPER_SPILL_FUNCTIONS(X)                                                                                   \
  X(rt_spill_hashed, kVoid, 2, false) /* context, store: of a join's table or groups; may go to disk from now on */ \
  X(rt_spill_sorted, kVoid, 6, false) /* context, store, TupleSortKey[], count, how many are wanted or -1, keys     \
                                         that hold tuples together */                                               \
  X(rt_spill_rows, kI32, 5, false)    /* context, store, rows, count, bytes of each: of the probing side */         \
  X(rt_join_round, kI32, 2, false)    /* context, store: the next partition -> value[0] = is there one? */          \
  X(rt_join_rows, kI32, 2, false)     /* context, store: its rows -> value[0] = rows, value[1] = count or 0 */      \
  X(rt_groups_merge, kI32, 3, false)  /* context, store, expected -> value[0] = GroupMerge* */                      \
  X(rt_groups_round, kI32, 2, false)  /* context, GroupMerge* -> value[0] = store of whole groups, or 0 */          \
  X(rt_groups_source, kI32, 2, false) /* context, GroupMerge* -> value[0] = store of parts of groups or 0,          \
                                         value[1] = owners of groups, value[2] = which the caller is */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_SPILL_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
