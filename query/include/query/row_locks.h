#pragma once

#include <cstdint>
#include <span>

#include "base/strong.h"
#include "storage/row_claims.h"

namespace scyper::query {

// A locking clause meets a row that another transaction has locked: it waits, leaves it out, or fails. The greater of
// two clauses counts.
enum class LockWait : uint8_t { kWait, kSkip, kError };

// FOR UPDATE and its kin while a program runs: the engine knows who holds which rows. Without one (snapshots, tests)
// nothing is locked and every row is free.
// Threads: the program's.
class RowLocks {
 public:
  enum class Locked : uint8_t {
    kYes,
    kHeld,     // another transaction holds the row: the statement ends, and runs again later
    kRefused,  // the same, with NOWAIT
  };
  // identity: the values of storage::identity_columns().
  virtual bool is_free(TableId table, storage::RowLock lock, std::span<const Datum> identity) = 0;
  virtual Locked lock(TableId table, storage::RowLock lock, LockWait wait, std::span<const Datum> identity) = 0;
  // The statement locks rows that have no name here.
  virtual Locked lock_unnamed() = 0;

  static RowLocks* current() { return current_; }
  // While a program runs.
  class Scope {
   public:
    explicit Scope(RowLocks* locks) noexcept : before_(current_) { current_ = locks; }
    ~Scope() { current_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    RowLocks* const before_;
  };

 protected:
  ~RowLocks() = default;

 private:
  static inline constinit thread_local RowLocks* current_ = nullptr;
};

}  // namespace scyper::query
