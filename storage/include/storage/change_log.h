#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "storage/arena.h"
#include "storage/sequence.h"
#include "storage/table.h"

namespace scyper::storage {

// One change that can be taken back: the header of a before-image.
struct UndoEntry {
  enum class Kind : uint32_t {
    kInsert,     // tid; old_row_id. The keys are in the indexes once the tuple is live
    kUpdate,     // tid; descriptor and the before-image of its cells (each cell, then its NULL byte); moved_indexes
    kDelete,     // tid. Deferred: position and payloads are freed at commit
    kPayload,    // a string or array stored in the heap; freed on rollback
    kRelocate,   // tid, where the tuple is now (kNoTid: it got no position); from: where it was; moved_indexes
    kDefinition  // payload: what takes it back (definition_change.h); of no table
  };
  UndoEntry* previous;  // the change before, across partitions
  UndoEntry* deferred;  // kUpdate, kDelete, kRelocate: the entry before that has something to do at commit
  TablePartition* partition;
  union {
    Tid tid;
    char* payload;
  };
  Kind kind;
  uint32_t moved_indexes;  // kUpdate, kRelocate: bit i = the key in index i was moved
  union {
    uint64_t old_row_id;                 // kInsert: counter before
    uint64_t payload_bytes;              // kPayload
    const UpdateDescriptor* descriptor;  // kUpdate
    Tid from;                            // kRelocate
  };
  char* image() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(UndoEntry) == 48);

// The part of a ChangeLog that generated code reads and writes by offset, to log plain changes by itself.
struct ChangeLogHead {
  UndoEntry* top = nullptr;  // newest
  char* cursor = nullptr;    // where the next entry goes
  char* block_end = nullptr;
  uint64_t undo_bytes = 0;
  char* redo_cursor = nullptr;
  char* redo_end = nullptr;
  bool record_redo = true;
};
static_assert(std::is_standard_layout_v<ChangeLogHead>);

// What one running transaction has changed: before-images to take it back (HyPer IV.E) and, if wanted, its physical
// redo (docs/redo_format.md). One per worker, whatever partitions the transaction touches; empty between transactions.
// Invariants:
//  (1) undoing the entries from the newest to the oldest restores tables, indexes, heaps, free lists (as sets) and row
//      id counters;
//  (2) memory that a committed state refers to is freed only by commit(), memory that only the running transaction
//      refers to only by rollback;
//  (3) redo() describes exactly the changes that are not taken back.
// Taking back a key's removal may need index memory when there is none left: every log holds a reserve of arena memory,
// which grows with the keys removed (kReservePerKey), and gives it to the arena when an index needs it. While part of
// it is missing, changes fail with kOutOfMemory. A reserve that does not suffice ends the process (design section 5,
// rule 9). Memory: blocks of the arena, up to kKeptBytes of them kept for the next transaction. Threads: the worker
// that owns it. Fork: a child made between two elementary changes of a transaction calls rollback_all() once, first
// thing, to make its action-consistent snapshot transaction-consistent (HyPer IV.F).
class ChangeLog {
 public:
  struct Options {
    size_t undo_limit_bytes = size_t{256} << 20;  // per transaction
    size_t redo_limit_bytes = size_t{64} << 20;   // per transaction
    size_t reserve_bytes = size_t{1} << 20;       // at rest, and the step it grows by; multiple of kArenaGranuleBytes
  };
  // A B+-tree splits half and half: n keys that come back take at most 2n / (entries of a leaf) leaves more than were
  // unlinked, twice 24 bytes a key, and the inner nodes above them. (A radix tree and a hash index take what they
  // gave.)
  static constexpr size_t kReservePerKey = 64;
  static constexpr size_t kKeptBytes = size_t{1} << 20;

  // 53200 when the arena has not even the memory to start with.
  static StatusOr<std::unique_ptr<ChangeLog>> create(Arena* arena, const Options& options);
  ~ChangeLog();
  ChangeLog(const ChangeLog&) = delete;
  ChangeLog& operator=(const ChangeLog&) = delete;

  // A savepoint: plain data that generated code keeps in its frame. Valid until a rollback to an older one, commit or
  // rollback_all.
  struct Mark {
    UndoEntry* top;
    void* block;
    char* cursor;
    uint64_t undo_bytes;
    uint64_t redo_bytes;
    uint64_t erased_keys;
    uint64_t locked_rows;
  };
  Mark mark() const noexcept {
    return {head_.top, block_, head_.cursor, head_.undo_bytes, redo_bytes(), erased_keys_, locked_rows_};
  }
  void rollback_to(const Mark& mark) noexcept;
  void rollback_all() noexcept;
  void commit() noexcept;  // frees what was deferred; redo() is gone afterwards

  // Whether redo is recorded: only logical ones need none. Set while empty().
  void record_redo(bool record) noexcept;
  bool records_redo() const noexcept { return head_.record_redo; }

  bool empty() const noexcept { return head_.top == nullptr && sequences_.empty(); }
  size_t undo_bytes() const noexcept { return head_.undo_bytes; }
  size_t redo_bytes() const noexcept { return static_cast<size_t>(head_.redo_cursor - redo_begin_); }
  std::string_view redo() const noexcept { return {redo_begin_, redo_bytes()}; }
  const Options& options() const noexcept { return options_; }
  ChangeLogHead* head() noexcept { return &head_; }

  // A sequence that the transaction has drawn from, with the state that it left. Stays through rollback_to(): numbers
  // are not taken back.
  void note_sequence(SequenceId id, const SequenceState& state, bool is_drawn);
  // What this transaction has drawn: null = nothing.
  const SequenceState* drawn_from(SequenceId id) const noexcept;
  const SequenceState* last_drawn() const noexcept;
  // Before redo() is taken: adds what was noted. false and last_result() at a limit.
  bool log_sequences() noexcept;

  // How many rows the transaction has locked without changing them. Whoever keeps these locks (query/row_locks.h) gives
  // back the last ones where a rollback to a mark has made the number smaller.
  uint64_t locked_rows() const noexcept { return locked_rows_; }
  void set_locked_rows(uint64_t count) noexcept { locked_rows_ = count; }

  // Why the last operation that took this log failed.
  ChangeResult last_result() const noexcept { return last_result_; }
  // kDuplicateKey: the tuple that has the key already. kKeyTooLarge: its size in bytes.
  struct Conflict {
    TablePartition* partition = nullptr;
    uint32_t index = 0;
    Tid tid = kNoTid;
    uint64_t key_bytes = 0;
  };
  const Conflict& conflict() const noexcept { return conflict_; }

  // --- for the tuple operations of table.h ---
  // A new newest entry with room for an image; nullptr and last_result() when a limit is reached.
  UndoEntry* push(UndoEntry::Kind kind, TablePartition* partition, size_t image_bytes) noexcept {
    const size_t bytes = sizeof(UndoEntry) + ((image_bytes + 7) & ~size_t{7});
    if (static_cast<size_t>(head_.block_end - head_.cursor) < bytes) [[unlikely]] {
      if (!next_block(bytes)) return nullptr;
    }
    auto* entry = reinterpret_cast<UndoEntry*>(head_.cursor);
    head_.cursor += bytes;
    head_.undo_bytes += bytes;
    entry->previous = head_.top;
    entry->deferred = nullptr;
    entry->partition = partition;
    entry->kind = kind;
    entry->moved_indexes = 0;
    head_.top = entry;
    return entry;
  }
  void defer(UndoEntry* entry) noexcept {
    entry->deferred = deferred_;
    deferred_ = entry;
  }
  // Room for at most `bytes` of redo; the caller ends with redo_advance(). nullptr and last_result() when a limit is
  // reached.
  char* redo_reserve(size_t bytes) noexcept {
    if (static_cast<size_t>(head_.redo_end - head_.redo_cursor) < bytes) [[unlikely]] {
      if (!grow_redo(bytes)) return nullptr;
    }
    return head_.redo_cursor;
  }
  void redo_advance(char* end) noexcept { head_.redo_cursor = end; }
  // What generated code calls when ChangeLogHead has not the room it needs; false and last_result() at a limit.
  bool make_undo_room(size_t bytes) noexcept { return next_block(bytes); }
  bool make_redo_room(size_t bytes) noexcept { return grow_redo(bytes); }
  UndoEntry* top() const noexcept { return head_.top; }
  // The row between begin and finish: what to go back to when it fails.
  void open_row() noexcept { row_mark_ = mark(); }
  ChangeResult fail_row(ChangeResult result) noexcept {
    rollback_to(row_mark_);
    return last_result_ = result;
  }
  ChangeResult fail(ChangeResult result) noexcept { return last_result_ = result; }
  void set_conflict(const Conflict& conflict) noexcept { conflict_ = conflict; }
  // Keys of the row being updated, as they were at update_begin().
  char* key_scratch(uint32_t index) noexcept { return key_scratch_.get() + size_t{index} * kMaxIndexKeyBytes; }
  struct SavedKey {
    uint32_t size;
    bool with_tid;
  };
  SavedKey* saved_keys() noexcept { return saved_keys_; }
  // Before `count` keys are removed from indexes; false and last_result() when the reserve cannot grow as it must.
  bool will_erase_keys(uint64_t count) noexcept {
    erased_keys_ += count;
    return erased_keys_ * kReservePerKey <= reserve_wanted_ - options_.reserve_bytes / 2 || grow_reserve();
  }
  // While taking changes back: gives part of the reserve to the arena. false when nothing is left of it.
  bool release_reserve() noexcept;

 private:
  struct Block {
    Block* next;
    size_t bytes;
  };
  ChangeLog(Arena* arena, const Options& options)
      : reserve_wanted_(options.reserve_bytes), arena_(arena), options_(options) {}
  bool next_block(size_t bytes) noexcept;
  bool grow_redo(size_t bytes) noexcept;
  bool grow_reserve() noexcept;
  bool refill_reserve() noexcept;
  void reset() noexcept;
  void use_block(Block* block, char* cursor) noexcept;
  static char* first_byte(Block* block) { return reinterpret_cast<char*>(block + 1); }

  struct SequenceNote {
    SequenceId id;
    SequenceState state;
    bool is_drawn;
  };

  ChangeLogHead head_;
  std::vector<SequenceNote> sequences_;
  size_t last_drawn_ = SIZE_MAX;  // position in it
  UndoEntry* deferred_ = nullptr;
  uint64_t erased_keys_ = 0;
  uint64_t locked_rows_ = 0;
  size_t reserve_wanted_;
  char* redo_begin_ = nullptr;
  Mark row_mark_{};
  ChangeResult last_result_ = ChangeResult::kOk;
  Conflict conflict_;

  // constant or rare
  Block* block_ = nullptr;
  Block* first_block_ = nullptr;
  size_t block_bytes_ = 0;  // of all blocks
  SavedKey saved_keys_[kMaxIndexesPerTable] = {};
  size_t redo_capacity_ = 0;
  Block* reserve_ = nullptr;
  size_t reserve_held_ = 0;
  std::unique_ptr<char[]> key_scratch_;
  Arena* const arena_;
  const Options options_;
};

}  // namespace scyper::storage
