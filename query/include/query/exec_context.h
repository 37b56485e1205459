#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "query/result.h"
#include "storage/change_log.h"
#include "storage/table.h"

namespace scyper::query {

class DeferredChecks;
class Program;
struct Portal;
class ChunkWindows;
class SpillSpace;
class Team;

// What generated code returns. Everything but kOk leaves the reason in the context.
enum class Outcome : int32_t {
  kOk = 0,
  kError = 1,          // ExecContext::error
  kMisclassified = 2,  // touched a foreign partition: undo and run again as partition-crossing (HyPer IV.C)
};

// Why a running transaction has to end, set by another thread.
enum class Interrupt : uint32_t { kNone = 0, kTimeout = 1, kCancel = 2, kShutdown = 3 };
// Beside the reason in ExecContext::interrupt: the transaction does not end but calls safepoint() at its next poll and
// goes on. Polls stand at loop heads, so never inside one change of a row.
constexpr uint32_t kSafepointBit = 0x100;

struct ErrorState {
  std::string sqlstate;
  std::string message;
  std::string detail;
  std::string hint;
  std::string column, constraint, datatype, table, schema, context;  // RAISE ... USING, GET STACKED DIAGNOSTICS
  bool catchable = true;  // by EXCEPTION WHEN: not for time, memory, cancel, misclassification
  bool set = false;
};

// Memory of one transaction: bump allocation from blocks that are kept for the next one. Bounded: allocate() returns
// nullptr beyond.
class ScratchArena {
 public:
  explicit ScratchArena(size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  char* allocate(size_t bytes) noexcept {
    size_t rounded = (bytes + 15) & ~size_t{15};
    if (static_cast<size_t>(end_ - cursor_) >= rounded) [[likely]] {
      char* result = cursor_;
      cursor_ += rounded;
      last_end_ = result + bytes;
      return result;
    }
    return allocate_slow(rounded);
  }
  // Memory that starts with room for the `size` bytes at `data` and has `more` behind: `data` itself where free memory
  // follows it (nothing to copy then), else new. A text that is extended again and again gets room that doubles, so
  // that building it from n parts takes O(n) memory, whatever is allocated between the parts.
  char* extend(const char* data, size_t size, size_t more) noexcept;
  void reset() noexcept;  // keeps the first blocks
  size_t used_bytes() const { return total_bytes_; }
  // What allocate() would still give, about: kept blocks that are free count as free.
  size_t room_bytes() const noexcept {
    size_t taken = 0;
    for (size_t i = 0; i <= current_ && i < blocks_.size(); i++) taken += blocks_[i].bytes;
    return limit_bytes_ > taken ? limit_bytes_ - taken : 0;
  }

 private:
  char* allocate_slow(size_t bytes) noexcept;

  struct Unmap {
    size_t bytes = 0;
    void operator()(char* block) const noexcept;
  };
  struct Block {
    std::unique_ptr<char[], Unmap> memory;
    size_t bytes;
  };
  char* use(const Block& block, size_t bytes) noexcept;
  char* grow(const char* data, size_t size, size_t more) noexcept;

  // A result of extend(). Whoever holds its first `used` bytes holds the newest text there, and may extend it in place;
  // holders of a shorter text may not.
  struct Growing {
    const char* data = nullptr;
    size_t used = 0;
    size_t capacity = 0;
  };
  static constexpr size_t kGrowingKept = 8;  // concatenations of a loop's body that may pass between two of one text

  std::vector<Block> blocks_;
  size_t current_ = 0;  // block of cursor_
  // Of an arena without blocks: here, so that room for 0 bytes is never nullptr, which is no memory.
  inline static char nothing_ = 0;
  char* cursor_ = &nothing_;
  char* end_ = &nothing_;
  char* last_end_ = nullptr;  // of the last allocation, not rounded
  size_t total_bytes_ = 0;
  Growing growing_[kGrowingKept];  // the newest first
  const size_t limit_bytes_;
};

struct ExecContext;

// Takes the rows of a long result while its statement runs. Threads: the statement's.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Empties context->result; may wait for the reader. Gives Outcome::kError with the context's error when the statement
  // is to end.
  virtual int32_t take_rows(ExecContext* context) noexcept = 0;
};

// Rows that come from outside of the database (COPY FROM). Threads: the statement's.
class RowFeed {
 public:
  virtual ~RowFeed() = default;
  // The next row; nullptr at the end. Valid until the next call.
  virtual const Datum* next() noexcept = 0;
};

// A generated function; 0 = Outcome::kOk.
using GeneratedCode = int32_t (*)(void* context, const void* arguments, void* results);

// All that generated code sees of the world. One per worker thread, reused for every transaction. Standard layout up to
// `interrupt`, which generated code reads by offset.
struct ExecContext {
  storage::TablePartition*** tables = nullptr;                // by table number of the program: partition array
  storage::ChangeLogHead* changes = nullptr;                  // of `log`
  const storage::UpdateDescriptor* const* updates = nullptr;  // by number of the program
  storage::ChangeLog* log = nullptr;
  int64_t transaction_time_us = 0;  // now(): drawn once per transaction
  int64_t value[4] = {};            // results of runtime functions wider than a register
  uint32_t partition = 0;           // of a partition-constrained transaction
  uint32_t partitions = 1;
  uint32_t crossing = 0;  // 1: runs alone and may touch everything
  uint32_t thread = 0;    // number within `team`
  // Where the running program may go on in better code (ir/swap.cc): that code, null while there is none; and while a
  // run changes to it: the place, and what is live there.
  const std::atomic<GeneratedCode>* better_code = nullptr;
  int64_t swap_point = 0;
  void* swap_state = nullptr;
  std::atomic<uint32_t> interrupt{0};  // Interrupt and kSafepointBit; generated loops poll it

  // --- for runtime functions ---
  ScratchArena* scratch = nullptr;
  const Program* program = nullptr;  // the running one (of nested calls: the innermost)
  ResultSet* result = nullptr;       // rows of the statement go here
  std::vector<std::string>* notices = nullptr;
  ErrorState error;
  uint64_t affected_rows = 0;
  uint32_t depth = 0;       // of nested routine calls
  uint32_t swaps = 0;       // how often the statement and what it calls went on in better code
  int64_t swap_passes = 0;  // for tests (ExecutionMode::kSwapping): the swap points to pass before that
  size_t result_bytes_max = size_t{256} << 20;

  Portal* portals = nullptr;     // open cursors, in the transaction's memory
  uint32_t unnamed_portals = 0;  // names given: <unnamed portal n>
  // Programs made for dynamic SQL: undo entries refer to them. Dropped when the next statement starts.
  std::vector<std::shared_ptr<const void>> pins;
  // COMMIT and ROLLBACK inside a procedure: ends the transaction and begins the next one. nullptr: not possible here.
  int32_t (*end_transaction)(void* owner, ExecContext* context, bool commit) = nullptr;
  void* end_transaction_owner = nullptr;

  Team* team = nullptr;                   // set: several threads run this program together
  SpillSpace* spill = nullptr;            // set: operators write to disk what their memory does not hold
  RowSink* sink = nullptr;                // set: rows leave whenever result_bytes_max is reached
  RowFeed* feed = nullptr;                // set: what relations of kind kFeed read
  std::shared_ptr<ChunkWindows> windows;  // made when the first chunk that is not hot is opened
  void (*safepoint)(void* owner) = nullptr;
  void* safepoint_owner = nullptr;
  DeferredChecks* deferred = nullptr;  // set: deferrable foreign keys may wait for the end of the transaction

  bool is_interrupted() const { return (interrupt.load(std::memory_order_relaxed) & ~kSafepointBit) != 0; }

  void set_log(storage::ChangeLog* change_log) noexcept {
    log = change_log;
    changes = change_log->head();
  }
  // Records the error that ends the transaction (or is caught). Returns Outcome::kError as generated code passes it on.
  int32_t fail(std::string_view sqlstate, std::string_view message, bool catchable = true) noexcept;
  int32_t fail(const Status& status, bool catchable = true) noexcept;
};

}  // namespace scyper::query
