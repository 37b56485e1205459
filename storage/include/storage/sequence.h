#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "base/strong.h"
#include "storage/type.h"

namespace scyper::storage {

// What CREATE SEQUENCE says.
struct SequenceDefinition {
  SequenceId id;
  std::string name;
  TypeId type = TypeId::kInt8;
  int64_t start = 1;
  int64_t increment = 1;
  int64_t minimum = 1;
  int64_t maximum = INT64_MAX;
  bool cycles = false;
  TableId owner;              // of OWNED BY; 0 = none
  uint32_t owner_column = 0;  // position
  bool is_identity = false;
};

// `changes` counts draws and settings, so that of two states of a sequence the later one is known whatever the order in
// which redo of several partitions is applied.
struct SequenceState {
  uint64_t changes = 0;
  int64_t value = 0;
  bool is_called = false;  // value was given out
};

// Numbers that are drawn outside of transactions: what a rolled back one has drawn is lost, as in PostgreSQL. A
// transaction's redo carries the states that it has left behind (ChangeLog::note_sequence), so that no number that a
// committed one has seen comes again after a restart.
// Threads: any. Fork: workers draw between polls only, so no child inherits a held lock; children read state() and draw
// nothing.
class Sequence {
 public:
  explicit Sequence(SequenceDefinition definition)
      : definition_(std::move(definition)), state_{0, definition_.start, false} {}

  const SequenceDefinition& definition() const { return definition_; }
  SequenceState state() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return state_;
  }
  // The next number; false where there is none.
  bool draw(SequenceState* after) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!advance()) return false;
    state_.is_called = true;
    ++state_.changes;
    *after = state_;
    return true;
  }
  SequenceState set(int64_t value, bool is_called) {
    std::lock_guard<std::mutex> lock(mutex_);
    state_ = {state_.changes + 1, value, is_called};
    return state_;
  }
  // From redo or an archive; older states change nothing.
  void restore(const SequenceState& state) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (state.changes > state_.changes) state_ = state;
  }

 private:
  bool advance() {
    if (!state_.is_called) return true;
    int64_t next;
    bool is_over = __builtin_add_overflow(state_.value, definition_.increment, &next);
    if (definition_.increment > 0) {
      if (!is_over && next <= definition_.maximum) return state_.value = next, true;
      if (definition_.cycles) return state_.value = definition_.minimum, true;
    } else {
      if (!is_over && next >= definition_.minimum) return state_.value = next, true;
      if (definition_.cycles) return state_.value = definition_.maximum, true;
    }
    return false;
  }

  const SequenceDefinition definition_;
  mutable std::mutex mutex_;
  SequenceState state_;
};

}  // namespace scyper::storage
