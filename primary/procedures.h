#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "primary/engine.h"

namespace scyper::primary {

// What is counted by procedure, so that transactions pay nothing for it: a statement has its procedure's slot from its
// preparation on, each worker counts in cells of its own, and some transactions are timed.
// Invariant: a slot is its name's as long as the table lives; names are at most kSlots.
// Threads: any. times() of a slot that slot_of() has given out needs no lock.
class ProcedureTable {
 public:
  static constexpr uint32_t kSlots = 128;       // a worker's cells are 2 KB then; more names than people read
  static constexpr uint32_t kStatements = 0;    // all that is no CALL
  static constexpr uint32_t kOthers = 1;        // procedures for which there was no slot
  static constexpr uint32_t kSampleEvery = 64;  // one transaction of so many is timed, on the mean
  struct Times {
    Timer waits, runs;
  };

  ProcedureTable();
  uint32_t slot_of(std::string_view sql);
  Times& times(uint32_t slot) const { return *times_[slot]; }
  // By slot.
  std::vector<std::string> names() const;

 private:
  std::array<std::unique_ptr<Times>, kSlots> times_;
  mutable Mutex mutex_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
};

// The procedure that a text calls, without its schema, as the catalog spells it; empty: the text is no CALL.
std::string called_procedure(std::string_view sql);

}  // namespace scyper::primary
