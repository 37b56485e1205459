#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
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
    kGivenUp,  // the same, and the statement has waited for it in vain: refusal() says why
  };
  // identity: the values of storage::identity_columns().
  virtual bool is_free(TableId table, storage::RowLock lock, std::span<const Datum> identity) = 0;
  virtual Locked lock(TableId table, storage::RowLock lock, LockWait wait, std::span<const Datum> identity) = 0;
  // A row whose being there decides. Not kYes: another transaction has changed it, so that nobody knows yet.
  virtual Locked meet(const storage::TablePartition* partition, storage::Tid tid) = 0;
  // The changes since `before`: does another transaction hold what they claim, for which the statement has waited in
  // vain? kYes: no.
  virtual Locked check_claims(const storage::UndoEntry* before) = 0;
  // The error of kGivenUp.
  virtual Status refusal() const = 0;
  // As lock(), with kWait.
  virtual Locked lock_tuple(const storage::TablePartition* partition, storage::Tid tid, storage::RowLock lock) = 0;
  // A table. Not kYes: another transaction has changed rows of it or, unless only changes count, locked some.
  virtual Locked lock_table(TableId table, bool is_for_changes, LockWait wait) = 0;
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
