#include "block_waits.h"

#include "base/clock.h"
#include "base/postgres_epoch.h"
#include "query/setting_values.h"
#include "query/settings.h"
#include "tentative_block.h"

namespace scyper::primary {

Status why_over(const std::atomic<bool>* cancelled, int64_t deadline_ns, int64_t now_ns) {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))
    return sql_error("57014", "canceling statement due to user request");
  if (deadline_ns != 0 && now_ns >= deadline_ns)
    return sql_error("57014", "canceling statement due to statement timeout");
  return {};
}

namespace {

// 0: none.
int64_t lock_timeout_ns(const Transaction& transaction) {
  if (transaction.settings == nullptr) return 0;
  const auto found = transaction.settings->find("lock_timeout");
  if (found == transaction.settings->end()) return 0;
  return static_cast<int64_t>(query::shown_number("lock_timeout", found->second)) * 1'000'000;
}

Status why_ended(const Transaction& transaction, int64_t lock_deadline_ns, int64_t now_ns) {
  SCYPER_RETURN_IF_ERROR(why_over(transaction.cancelled, transaction.deadline_ns, now_ns));
  if (lock_deadline_ns != 0 && now_ns >= lock_deadline_ns)
    return sql_error("55P03", "canceling statement due to lock timeout");
  return {};
}

// A statement, rather than a block that waits for the node.
bool raises_errors(const Transaction& transaction) {
  const TentativeJob* job = TentativeJob::of(transaction);
  return job == nullptr || job->kind == TentativeJob::Kind::kStatement;
}

}  // namespace

Status deadlock_error() {
  return with_hint(sql_error("40P01", "deadlock detected"),
                   "Blocks wait for each other's rows. The transaction might succeed if retried.");
}

Status ended_wait_error(const EndedWait& wait) {
  return wait.is_circle ? deadlock_error() : sql_error("55P03", "canceling statement due to lock timeout");
}

void BlockWaits::open(BlockId block) {
  MutexLock lock(&mutex_);
  blocks_[block];
}

void BlockWaits::note_session(BlockId block, int32_t pid, std::vector<TableId> tables) {
  MutexLock lock(&mutex_);
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return;
  found->second.pid = pid;
  found->second.tables = std::move(tables);
}

std::vector<query::SessionLock> BlockWaits::locks() {
  using Kind = query::SessionLock::Kind;
  std::vector<query::SessionLock> all;
  MutexLock lock(&mutex_);
  for (const auto& [id, block] : blocks_) {
    const auto add = [&, number = id](Kind kind, int32_t pid, const char* mode) -> query::SessionLock& {
      query::SessionLock& added = all.emplace_back();
      added.kind = kind;
      added.pid = pid;
      added.mode = mode;
      added.number = number;
      return added;
    };
    if (block.is_holder || block.pid != 0) add(Kind::kTransaction, block.pid, "ExclusiveLock");
    for (const TableId table : block.tables) add(Kind::kRelation, block.pid, "ExclusiveLock").number = table.value();
    for (const Waiting& waiting : block.waiting) {
      const bool is_for_tables = !block.tables.empty();
      query::SessionLock& waits = add(is_for_tables ? Kind::kRelation : Kind::kTransaction, waiting.pid,
                                      is_for_tables ? "RowExclusiveLock" : "ShareLock");
      if (is_for_tables) waits.number = 0;  // one of them
      waits.is_granted = false;
      waits.since_us = waiting.since_us;
      if (block.pid != 0) waits.blocked_by.push_back(block.pid);
    }
  }
  return all;
}

void BlockWaits::note_holder(BlockId block) {
  MutexLock lock(&mutex_);
  if (const auto found = blocks_.find(block); found != blocks_.end()) found->second.is_holder = true;
}

std::vector<BlockId> BlockWaits::holders(BlockId own) {
  std::vector<BlockId> all;
  MutexLock lock(&mutex_);
  for (const auto& [id, block] : blocks_) {
    if (block.is_holder && id != own) all.push_back(id);
  }
  return all;
}

// Each block waits for one other at most, so the cycle is a chain that comes back.
bool BlockWaits::closes_cycle(BlockId waiter, BlockId holder) const {
  while (holder != waiter) {
    const auto block = blocks_.find(holder);
    if (block == blocks_.end() || block->second.waits_for == 0) return false;
    holder = block->second.waits_for;
  }
  return true;
}

BlockWaits::Parked BlockWaits::park(Transaction* transaction, BlockId waiter, BlockId holder, int64_t now_ns) {
  MutexLock lock(&mutex_);
  if (is_closed_) return Parked::kClosed;
  const auto block = blocks_.find(holder);
  if (block == blocks_.end()) return Parked::kHasEnded;
  if (waiter != 0) {
    if (closes_cycle(waiter, holder)) return Parked::kCycle;
    blocks_[waiter].waits_for = holder;
  }
  const int64_t lock_ns = lock_timeout_ns(*transaction);
  block->second.waiting.push_back({transaction, waiter, lock_ns == 0 ? 0 : now_ns + lock_ns,
                                   query::session_number_of(transaction->settings),
                                   RealClock().now_us() - kPostgresEpochUs});
  count_.fetch_add(1, std::memory_order_relaxed);
  return Parked::kYes;
}

void BlockWaits::leave(const Waiting& waiting) {
  count_.fetch_sub(1, std::memory_order_relaxed);
  if (waiting.block == 0) return;
  if (const auto waiter = blocks_.find(waiting.block); waiter != blocks_.end()) waiter->second.waits_for = 0;
}

std::vector<BlockWaits::Waiting> BlockWaits::take(Block* block) {
  std::vector<Waiting> waiting = std::exchange(block->waiting, {});
  for (const Waiting& each : waiting) leave(each);
  return waiting;
}

void BlockWaits::wake(BlockId block) {
  std::vector<Waiting> waiting;
  {
    MutexLock lock(&mutex_);
    if (const auto found = blocks_.find(block); found != blocks_.end()) waiting = take(&found->second);
  }
  for (const Waiting& each : waiting) requeue_(each.transaction);
}

void BlockWaits::end(BlockId block) {
  std::vector<Waiting> waiting;
  {
    MutexLock lock(&mutex_);
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return;
    waiting = take(&found->second);
    blocks_.erase(found);
  }
  for (const Waiting& each : waiting) requeue_(each.transaction);
}

std::vector<std::pair<Transaction*, Status>> BlockWaits::take_over(int64_t now_ns) {
  std::vector<std::pair<Transaction*, Status>> over;
  if (!any()) return over;
  std::vector<Transaction*> again;
  {
    MutexLock lock(&mutex_);
    for (auto& [id, block] : blocks_) {
      std::erase_if(block.waiting, [&](const Waiting& waiting) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        Status why = why_ended(*waiting.transaction, waiting.lock_deadline_ns, now_ns);
        if (why.ok()) return false;
        leave(waiting);
        if (sqlstate_of(why) == "55P03" && raises_errors(*waiting.transaction)) {
          waiting.transaction->ended_waits.push_back({id, /*is_circle=*/false});
          again.push_back(waiting.transaction);
        } else {
          over.emplace_back(waiting.transaction, std::move(why));
        }
        return true;
      });
    }
  }
  for (Transaction* transaction : again) requeue_(transaction);
  return over;
}

std::vector<Transaction*> BlockWaits::close() {
  std::vector<Transaction*> all;
  MutexLock lock(&mutex_);
  is_closed_ = true;
  for (auto& [id, block] : blocks_) {
    for (const Waiting& each : take(&block)) all.push_back(each.transaction);
  }
  return all;
}

}  // namespace scyper::primary
