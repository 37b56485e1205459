#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "executor.h"
#include "rendezvous.h"
#include "sleeper.h"
#include "transaction_queue.h"

namespace scyper::primary {

// One thread that runs the transactions of a group of partitions, one after the other (HyPer III.D).
//
//   idle --become_busy()--> busy --stand_still()--> idle       by the worker itself
//   idle --try_hold()--> held --release()--> idle              by the leader of a rendezvous
//   idle --try_enter()--> busy --leave()--> idle               by a guest: a thread that waits for one transaction
//
// Invariants: (1) it executes transactions only while busy, or while held through Rendezvous::help(); (2) it becomes
// busy
//   only from idle, so a held worker stays where it is; (3) whoever makes it busy has all that is the worker's until
//   it is idle again.
// Threads: run() its own; submitters push to queue(); the leader holds, releases and wakes; guests any.
class Worker {
 public:
  Worker(uint32_t number, std::unique_ptr<Executor> executor, Rendezvous* rendezvous, const EngineOptions& options);

  void start();
  void join() { thread_.join(); }

  // --- submitters ---
  TransactionQueue& queue() { return queue_; }
  void wake() { sleeper_.wake(); }
  // A step of compaction for its partitions: taken between two transactions. Threads: any.
  void make_step_due() {
    is_step_due_.store(true);
    sleeper_.wake();
  }

  // --- guests ---
  // A thread that would wait for its transaction runs it itself where the worker rests: nobody has to be woken. The
  // worker's own queue comes first. True: the caller is the worker until it leaves.
  bool try_enter();
  void leave();

  // --- the leader and whoever looks ---
  // Executes, or is about to: the fork gate waits until nobody does. Between begin_work() and end_work(); the worker's
  // own calls. begin_work() sits out a pause first.
  bool is_at_work() const { return is_at_work_.load(); }
  void begin_work();
  void end_work();
  // Between two transactions, or within one at a safepoint: sits out a pause.
  void pass_border() {
    if (rendezvous_->is_pausing()) [[unlikely]]
      sit_out_pause();
  }
  bool is_busy() const { return state_.load() == State::kBusy; }
  // Has transactions and was not yet let go, or has not yet woken up.
  bool is_waiting_to_run() const { return !is_busy() && (is_in_midst_.load() || !queue_.empty()); }
  bool try_hold();
  void release();
  Sleeper& sleeper() { return sleeper_; }

  Executor& executor() { return *executor_; }
  // Runs one transaction of its own queue, or one alone, and answers it.
  void run_one(Transaction* transaction);

 private:
  enum class State : uint32_t { kIdle, kBusy, kHeld };

  void run();
  bool become_busy();
  void stand_still();
  bool has_reason() const;
  bool may_become_busy() const { return !rendezvous_->must_stop() && state_.load() == State::kIdle; }
  void run_queue();
  void take_step();
  void attend();
  void consider_leading();
  void close_if_asked();
  void sit_out_pause();

  // constant after construction
  const uint32_t number_;
  const std::unique_ptr<Executor> executor_;
  Rendezvous* const rendezvous_;
  const bool is_only_one_;

  TransactionQueue queue_;
  alignas(64) std::atomic<State> state_{State::kIdle};
  std::atomic<bool> is_at_work_{false};
  std::atomic<bool> wants_to_run_{false};  // waits for its release
  std::atomic<bool> is_in_midst_{false};   // stopped with transactions in hand
  std::atomic<bool> is_step_due_{false};
  Sleeper sleeper_;

  // its own thread's
  bool is_closed_ = false;
  std::thread thread_;
};

}  // namespace scyper::primary
