#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "query/exec_context.h"
#include "runtime/swap.h"
#include "runtime/tuples.h"

namespace scyper::query {

// The threads that run one query together. All run the same code: scans that drive a pipeline take morsels (chunks of a
// table or of a buffer) from here, and where a pipeline ends they meet and put together what each has gathered. So
// every intermediate result is either shared by all or in disjoint parts, one per thread. Threads: each member by its
// own; all functions may be called by all. A member that fails makes the others leave where they would meet. Source:
// Leis et al.: Morsel-Driven Parallelism (SIGMOD 2014). We differ: pipelines are started by meeting, not by a
// scheduler.
class Team {
 public:
  Team(uint32_t size, const ExecContext* main)
      : size_(size),
        main_(main),
        code_source_(CodeSource::current),
        offers_{std::vector<void*>(size), std::vector<void*>(size)} {}

  uint32_t size() const { return size_; }
  // The first member's interrupt becomes c's, too.
  void pass_interrupt(ExecContext* c) const;
  // Waits for all. False when a member has failed or the query is to end.
  bool meet(ExecContext* c);
  // Everybody's `mine`, by number of the thread, until the caller comes to the next meeting; nullptr as meet().
  void* const* exchange(ExecContext* c, void* mine);
  // Position of the next chunk of a partition in a scan.
  int64_t next_morsel(ExecContext* c, int64_t scan, const void* partition, int64_t tuples);
  TupleStore::Chunk* next_chunk(ExecContext* c, int64_t scan, TupleStore* store);
  // What all go on in that began in the interpreter (runtime/swap.h); null: nothing else. Waits.
  GeneratedCode native_code(ExecContext* c) noexcept;
  void fail(uint32_t thread);
  // The member that failed first; -1: none.
  int failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  struct Scan {
    int64_t number;
    const void* of;
    int64_t next;
    TupleStore::Chunk* chunk;
  };
  Scan* find(int64_t number, const void* of);

  const uint32_t size_;
  const ExecContext* const main_;
  CodeSource* const code_source_;
  std::mutex finding_code_;
  std::optional<GeneratedCode> native_code_;  // under finding_code_
  std::atomic<int> failed_{-1};
  std::mutex mutex_;  // what follows
  std::condition_variable all_came_;
  uint32_t waiting_ = 0;
  uint64_t meetings_ = 0;
  std::vector<void*> offers_[2];  // of meetings with even and odd numbers
  std::vector<Scan> scans_;
};

// Runs a program on `threads` threads, `main`'s among them; its result and error are in `main`.
Outcome run_in_team(const Program& program, ExecContext* main, const Datum* arguments, uint32_t threads,
                    size_t scratch_bytes) noexcept;

// What a member says that left because of another one, or of the query's end.
int32_t fail_meeting(ExecContext* c);
// The tuples of all members in the first one's store.
void concatenate_stores(TupleStore* const* stores, uint32_t count);

#define SCYPER_TEAM_FUNCTIONS(X)                                                                             \
  X(rt_next_morsel, kI64, 4, false)   /* context, scan, TablePartition*, first tuple if alone -> the same */ \
  X(rt_next_chunk, kPtr, 4, false)    /* context, scan, store, chunk before if alone -> Chunk* or 0 */       \
  X(rt_tuples_gather, kI32, 3, false) /* context, store, for all? -> value[0] = TupleStore* */               \
  X(rt_exchange, kI32, 2, false)      /* context, memory -> value[0] = everybody's, value[1] = count */      \
  X(rt_meet, kI32, 1, false)          /* context */                                                          \
  X(rt_copy_tuple, kVoid, 3, false)   /* to, from, bytes: all but the header */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_TEAM_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
