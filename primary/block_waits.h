#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "primary/engine.h"
#include "query/session_activity.h"
#include "reservations.h"

namespace scyper::primary {

// Blocks wait for each other in a circle.
Status deadlock_error();
Status ended_wait_error(const EndedWait& wait);

// Transactions that wait for an open block, which has reserved what they need. They have left no trace and hold no
// worker. They are queued again when the block ends or gives something back, and end by themselves when their time is
// over.
// Threads: any.
class BlockWaits {
 public:
  // Takes a transaction over: to its queue, or to whom it refuses it.
  using Requeue = std::function<void(Transaction*)>;
  explicit BlockWaits(Requeue requeue) : requeue_(std::move(requeue)) {}

  void open(BlockId block);
  // The block's session, and the tables that it holds as a whole, for locks().
  void note_session(BlockId block, int32_t pid, std::vector<TableId> tables = {});
  // Of all blocks: what they hold, and the sessions that wait for them.
  std::vector<query::SessionLock> locks();
  // The block has reserved something.
  void note_holder(BlockId block);
  // The other blocks that have.
  std::vector<BlockId> holders(BlockId own);
  enum class Parked : uint8_t {
    kYes,       // the transaction is not the caller's any more
    kHasEnded,  // the holder: to be tried again at once
    kCycle,     // the holder waits for the waiter, maybe by way of others: 40P01
    kClosed
  };
  // waiter: the block whose statement it is; 0: it holds nothing.
  Parked park(Transaction* transaction, BlockId waiter, BlockId holder, int64_t now_ns);
  // The block has given something back.
  void wake(BlockId block);
  void end(BlockId block);

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  // Takes out the waiters whose time is over or who were cancelled, and says why. The caller answers them. A statement
  // whose lock_timeout is over is queued again, so that it raises the error itself (Transaction::ended_waits).
  std::vector<std::pair<Transaction*, Status>> take_over(int64_t now_ns);
  // Nobody waits from now on; those who did: the caller answers them.
  std::vector<Transaction*> close();

 private:
  struct Waiting {
    Transaction* transaction;
    BlockId block;
    int64_t lock_deadline_ns;  // 0: none
    int32_t pid;               // of its session; 0: not known
    int64_t since_us;
  };
  struct Block {
    BlockId waits_for = 0;
    bool is_holder = false;
    int32_t pid = 0;  // of its session; 0: not known
    std::vector<TableId> tables;
    std::vector<Waiting> waiting;
  };
  bool closes_cycle(BlockId waiter, BlockId holder) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Waiting> take(Block* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void leave(const Waiting& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Requeue requeue_;
  std::atomic<uint64_t> count_{0};
  Mutex mutex_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<BlockId, Block> blocks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace scyper::primary
