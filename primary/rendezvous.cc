#include "rendezvous.h"

#include <algorithm>

#include "base/check.h"
#include "claim.h"
#include "large_transactions.h"
#include "worker.h"

namespace scyper::primary {

namespace {
// Longer than most transactions; then the leader sleeps until the last one has reached its border.
constexpr int kHoldSpins = 200;
constexpr int kHelperSpins = 200;
}  // namespace

bool Rendezvous::push(const Chain& chain) {
  if (!queue_.push(chain)) return false;
  notify();
  return true;
}

void Rendezvous::push_again(Transaction* transaction) {
  Chain chain;
  chain.add(transaction);
  queue_.reserve_always(1);
  bool pushed = queue_.push(chain);
  CHECK(pushed);  // closed only when no worker has anything left
  notify();
}

void Rendezvous::notify() {
  if ((attention_.load() & kCrossingWaits) == 0) attention_.fetch_or(kCrossingWaits);
  // a busy worker sees it at its next border, or when it becomes idle
  if (is_nobody_at_work(nullptr)) workers_[0]->wake();
}

bool Rendezvous::allows_steps() const { return large_ == nullptr || !large_->is_open(); }

bool Rendezvous::is_due(int64_t now_ns) const {
  if (queue_.depth() > queue_.capacity()) return true;
  return now_ns >= turn_ends_ns_.load(std::memory_order_relaxed) &&
         std::none_of(workers_.begin(), workers_.end(),
                      [](const Worker* worker) { return worker->is_waiting_to_run(); });
}

bool Rendezvous::is_nobody_at_work(const Worker* self) const {
  return std::none_of(workers_.begin(), workers_.end(), [self](const Worker* worker) {
    return worker != self && (worker->is_busy() || worker->is_waiting_to_run());
  });
}

void Rendezvous::tell_leader() {
  if (!must_stop()) return;
  Worker* leader = leader_.load();
  if (leader != nullptr) leader->wake();
}

void Rendezvous::lead(Worker* leader) {
  bool expected = false;
  if (!is_led_.compare_exchange_strong(expected, true)) return;
  CHECK(leader->is_busy());
  leader_.store(leader);
  if (workers_.size() > 1) hold_others(leader);
  int64_t start_ns = leader->executor().now_ns();
  run_group(leader);
  auto retired = leader->executor().take_retired();
  int64_t end_ns = leader->executor().now_ns();
  turn_ends_ns_.store(end_ns + std::max(kTurnNs, end_ns - start_ns), std::memory_order_relaxed);
  if (workers_.size() > 1) release_others(leader);
  leader_.store(nullptr);
  is_led_.store(false);
}

bool Rendezvous::try_lead(Worker* leader, Transaction* transaction) {
  bool expected = false;
  if (crossing_waits() || !is_led_.compare_exchange_strong(expected, true)) return false;
  size_t held = 0;
  const auto is_held = [&](Worker* worker) {
    if (worker == leader) return true;
    if (worker->is_waiting_to_run() || !worker->try_hold()) return false;
    ++held;
    return true;
  };
  const bool has_all = std::all_of(workers_.begin(), workers_.end(), is_held);
  if (has_all) leader->run_one(transaction);
  for (Worker* worker : workers_) {
    if (worker == leader || held == 0) continue;
    worker->release();
    --held;
  }
  is_led_.store(false);
  return has_all;
}

void Rendezvous::hold_others(Worker* leader) {
  attention_.fetch_or(kStop);
  leader->end_work();  // a worker in a pause does not reach its border
  for (Worker* worker : workers_) {
    if (worker == leader) continue;
    int spins = 0;
    while (!worker->try_hold()) {
      if (++spins < kHoldSpins) {
        spin_pause();
        continue;
      }
      leader->sleeper().prepare();
      if (worker->is_busy()) {
        leader->sleeper().sleep();
      } else {
        leader->sleeper().cancel();
      }
    }
  }
  leader->begin_work();
}

void Rendezvous::release_others(Worker* leader) {
  attention_.fetch_and(~kStop);
  for (Worker* worker : workers_) {
    if (worker != leader) worker->release();
  }
}

// The oldest that waits; nullptr when none does.
Transaction* Rendezvous::next() {
  if (taken_ == nullptr) taken_ = queue_.take_all();
  if (taken_ == nullptr) {
    attention_.fetch_and(~kCrossingWaits);
    if (!queue_.empty()) {  // came in between
      attention_.fetch_or(kCrossingWaits);
      taken_ = queue_.take_all();
    }
  }
  Transaction* transaction = taken_;
  if (transaction != nullptr) taken_ = transaction->next;
  return transaction;
}

void Rendezvous::run_group(Worker* leader) {
  CHECK(reader_count_ == 0);
  int64_t end_ns = leader->executor().now_ns() + kGroupNs;
  for (uint32_t count = 0; count < kGroupMax; ++count) {
    Transaction* transaction = next();
    if (transaction == nullptr) break;
    queue_.finish();
    leader->pass_border();
    run_alone(leader, transaction);
    if (leader->executor().now_ns() >= end_ns) break;
  }
  run_readers(leader);
}

// Definitions and other work that expects every transaction to have ended wait until a large one has.
bool Rendezvous::is_held_back(Transaction* transaction) {
  if (large_ == nullptr || !large_->is_open()) return false;
  if (transaction->statement == nullptr) {
    const auto* work = static_cast<ExclusiveWork*>(transaction);
    if (work->is_slice || work->may_run_beside_large) return false;
  } else if (prepared_of(*transaction).is_program()) {
    return false;
  }
  large_->hold_back(transaction);
  return true;
}

void Rendezvous::run_alone(Worker* leader, Transaction* transaction) {
  if (transaction->claim != nullptr && transaction->claim->is_left()) return transaction->done(transaction);
  if (is_held_back(transaction)) return;
  if (transaction->statement == nullptr) {
    run_readers(leader);
    if (!take_claim(transaction)) return transaction->done(transaction);
    auto* work = static_cast<ExclusiveWork*>(transaction);
    if (work->is_slice) return static_cast<void>(work->run_on(leader));
    const uint64_t before_lsn = leader->executor().last_alone_lsn();
    work->status = work->run_on ? work->run_on(leader) : work->run();
    work->has_logged = leader->executor().last_alone_lsn() != before_lsn;
    leader->executor().answer(work);
  } else if (!prepared_of(*transaction).is_program()) {
    if (large_ != nullptr && large_->takes_definition(transaction)) return;
    run_readers(leader);  // they may be something else after it
    if (!take_claim(transaction)) return transaction->done(transaction);
    transaction->crossing = true;  // has seen everything
    leader->executor().define(transaction);
    leader->executor().answer(transaction);
  } else if (workers_.size() > 1 && leader->executor().is_read_only(*transaction)) {
    readers_[reader_count_++] = transaction;
  } else {
    leader->run_one(transaction);
  }
}

void Rendezvous::run_readers(Worker* leader) {
  if (reader_count_ == 0) return;
  if (reader_count_ == 1) {
    leader->run_one(readers_[0]);
  } else {
    next_reader_.store(0);
    open_readers_.store(reader_count_);
    for (Worker* worker : workers_) {
      if (worker != leader) worker->wake();
    }
    help(leader);
    open_readers_.store(0);
    leader->end_work();
    int spins = 0;
    while (helpers_.load() != 0) {
      if (++spins < kHelperSpins) {
        spin_pause();
        continue;
      }
      leader->sleeper().prepare();
      if (helpers_.load() != 0) {
        leader->sleeper().sleep();
      } else {
        leader->sleeper().cancel();
      }
    }
    leader->begin_work();
  }
  reader_count_ = 0;
}

void Rendezvous::help(Worker* helper) {
  helpers_.fetch_add(1);
  uint32_t count = open_readers_.load();  // after the registration: the leader waits for who sees any
  if (count > 0) {                        // 0: over, and the next round may already have set the counter back
    const bool was_at_work = helper->is_at_work();
    if (!was_at_work) helper->begin_work();
    for (uint32_t i = next_reader_.fetch_add(1); i < count; i = next_reader_.fetch_add(1)) {
      helper->pass_border();
      helper->run_one(readers_[i]);
    }
    if (!was_at_work) helper->end_work();
  }
  Worker* leader = leader_.load();
  if (helpers_.fetch_sub(1) == 1 && leader != nullptr) leader->wake();
}

void Rendezvous::begin_pause(bool between_changes) {
  pauses_within_.store(between_changes, std::memory_order_relaxed);
  pause_.store(1);
  attention_.fetch_or(kPause);
}

void Rendezvous::end_pause() {
  attention_.fetch_and(~kPause);
  pause_.store(0);
  pause_.notify_all();
}

void Rendezvous::tell_gate() { gate_.wake(); }

void Rendezvous::sit_out_pause() {
  while (is_pausing()) pause_.wait(1);
}

void Rendezvous::try_finish() {
  if (closed_workers_.load() < workers_.size() || crossing_waits() || !is_nobody_at_work(nullptr)) return;
  if (large_ != nullptr && large_->is_open()) return;  // its next slice comes
  if (!queue_.try_close()) return;
  is_finished_.store(true);
  for (Worker* worker : workers_) worker->wake();
}

}  // namespace scyper::primary
