#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "primary/engine.h"
#include "query/catalog.h"
#include "query/row_locks.h"
#include "reservations.h"

namespace scyper::primary {

struct ExecutorEnvironment;

// The rows that the running statement locks by FOR UPDATE and its kin. A row that a block has reserved ends the
// statement, which waits for that block and runs again. A block's own rows are kept until the statement has ended and
// the block reserves them. A transaction that ends with its statement, or runs alone, looks at them only.
// Threads: the worker's.
class LockedRows final : public query::RowLocks {
 public:
  using FindHolder = std::function<StatusOr<BlockId>(BlockId own, const storage::UndoEntry*)>;
  // find_holder: of what the changes since an entry of the log claim; 0: nobody holds it.
  LockedRows(const ExecutorEnvironment* environment, FindHolder find_holder)
      : environment_(environment), find_holder_(std::move(find_holder)) {}

  // A statement of the block begins; 0: of none. keeps: the block reserves what is locked. waits: blocks that it has
  // waited for in vain; outlives the statement.
  void begin(BlockId own, bool keeps, storage::ChangeLog* log, const std::vector<EndedWait>* waits);
  // It begins once more.
  void clear();

  bool is_free(TableId table, storage::RowLock lock, std::span<const Datum> identity) override;
  Locked lock(TableId table, storage::RowLock lock, query::LockWait wait, std::span<const Datum> identity) override;
  Locked meet(const storage::TablePartition* partition, storage::Tid tid) override;
  Locked check_claims(const storage::UndoEntry* before) override;
  Status refusal() const override;
  Locked lock_tuple(const storage::TablePartition* partition, storage::Tid tid, storage::RowLock lock) override;
  Locked lock_table(TableId table, bool is_for_changes, query::LockWait wait) override;
  Locked lock_unnamed() override;

  // The block that the statement has to wait for; 0: none.
  BlockId holder() const { return holder_; }
  // The block has to run alone, where nobody else can lock rows.
  bool needs_exclusive() const { return needs_exclusive_; }
  struct Row {
    const storage::TablePartition* partition;
    std::string name;
    storage::RowLock lock;
    storage::RowClaim claim() const { return {partition, name, lock}; }
  };
  const std::vector<Row>& kept();

 private:
  Locked take(const storage::RowClaim& claim, query::LockWait wait);
  Locked meet_holder(BlockId holder);
  void give_back();
  bool name_row(TableId table, std::span<const Datum> identity, storage::RowLock lock, storage::RowClaim* claim);

  const ExecutorEnvironment* const environment_;
  const FindHolder find_holder_;
  storage::ChangeLog* log_ = nullptr;
  const std::vector<EndedWait>* waits_ = nullptr;
  EndedWait given_up_;
  BlockId own_ = 0;
  bool keeps_ = false;
  std::shared_ptr<const query::Catalog> catalog_;  // of the run; null until it is asked for
  char name_[storage::kClaimBytesMax];
  std::vector<Row> rows_;
  BlockId holder_ = 0;
  bool needs_exclusive_ = false;
};

}  // namespace scyper::primary
