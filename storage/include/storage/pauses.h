#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/change_log.h"

namespace scyper::storage {

// While it lives, its thread's change logs commit and roll back in steps: step() is called between two rows, again and
// again, and others may run or fork there. For transactions whose undo is too much for one go.
// A forked child that calls rollback_all() goes on where the parent stood. Behind the beginning of commit() it
// takes nothing back, but frees what the parent was about to free.
class Pauses {
 public:
  using Pause = void (*)(void* owner) noexcept;
  Pauses(Pause pause, void* owner) noexcept : pause_(pause), owner_(owner) { current = this; }
  ~Pauses();
  Pauses(const Pauses&) = delete;
  Pauses& operator=(const Pauses&) = delete;

  void step() noexcept {
    if (++steps_ % kStepsPerPause == 0) pause_(owner_);
  }
  void pause() noexcept { pause_(owner_); }
  // Faults in the memory that the next steps are likely to take. While others run: it is nobody's.
  void touch_ahead(Arena* arena) noexcept;
  // Before the log's redo is others' to see: what commit() has to do at once after that is short then. The log does not
  // change any more.
  void prepare_commit(const ChangeLog& log);

  // Takes the pages from memory that is about to be freed, a piece at a time with a pause behind each: to free many
  // pages at once takes milliseconds. The bytes are lost. Without a Pauses it does nothing.
  static void give_back(void* memory, size_t bytes) noexcept;

  // Of the thread; null: none.
  static inline constinit thread_local Pauses* current = nullptr;
  // The same for code that runs with or without one.
  static void step_if_any() noexcept {
    if (current != nullptr) current->step();
  }
  static void pause_if_any() noexcept {
    if (current != nullptr) current->pause();
  }

 private:
  friend class ChangeLog;
  static constexpr uint64_t kStepsPerPause = 32;

  // By chunk of a partition: whether it has a change.
  struct ChangedChunks {
    TablePartition* partition;
    std::vector<bool> chunks;
  };
  void note(TablePartition* partition, Tid tid);
  void mark_all_changed() noexcept;

  // Redo that grows without being copied: one reserved mapping, of which the log uses more and more. The arena's budget
  // counts it: for each part in use it holds as many bytes of the arena, which nobody touches.
  static constexpr size_t kRedoStepBytes = size_t{2} << 20;
  char* redo_begin(size_t bytes_max) noexcept;  // null: no address space
  bool grow_redo(Arena* arena) noexcept;        // by one step; false: over the budget
  void release_redo(Arena* arena) noexcept;

  const Pause pause_;
  void* const owner_;
  uint64_t steps_ = 0;
  bool is_prepared_ = false;
  std::vector<ChangedChunks> changed_;
  size_t last_ = 0;  // position in it
  char* redo_ = nullptr;
  size_t redo_reserved_ = 0;
  size_t redo_touched_ = 0;
  std::vector<void*> redo_budget_;  // blocks of the arena
};

}  // namespace scyper::storage
