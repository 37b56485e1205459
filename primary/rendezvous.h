#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "claim.h"
#include "executor.h"
#include "sleeper.h"
#include "transaction_queue.h"

namespace scyper::primary {

class Worker;

// Work that needs all workers to stand still and is no statement: bulk load, companions. `status` has its answer.
struct ExclusiveWork : Transaction {
  std::function<Status()> run;
  std::function<Status(Worker*)> run_on;  // in its place: work that needs the worker that leads
  bool is_slice = false;                  // of a large transaction, which answers by itself
  bool may_run_beside_large = false;      // between two of these
  Completion completion;
};

// The same for a caller that may leave it in the queue.
struct KeptWork : ExclusiveWork {
  KeptWork() {
    claim = &own_claim;
    done = &signal_kept<KeptWork>;
  }
  Claim own_claim;
};

// Who runs when: partition-crossing transactions and exclusive work have the node for themselves (HyPer IV.C).
// They wait in a queue of their own. When their turn has come, a worker that stands between two transactions leads: it
// stops the others at their next border (idle ones are held where they are, asleep or not), runs a group of what waits,
// and lets them go. Read-only ones of a group run last, in parallel on all workers that are awake.
// Invariants: (1) at most one leads, and while it does no other worker executes but what help() gives it; (2) after a
//   group the workers have a turn as long as the group took, at least kTurnNs, unless they have nothing to do; so
//   neither side starves; (3) no worker goes to sleep while crossing transactions wait and no worker is busy.
// With one worker nobody has to be stopped; its crossing transactions do not come here at all.
// Threads: as said at each function. Memory order: everything that makes (1) and (3) hold is sequentially consistent.
class Rendezvous {
 public:
  explicit Rendezvous(uint32_t queue_capacity) : queue_(queue_capacity) {}
  void set_workers(std::vector<Worker*> workers) { workers_ = std::move(workers); }  // once, before they start
  void set_large(LargeTransactions* large) { large_ = large; }                       // likewise

  // --- submitters ---
  TransactionQueue& queue() { return queue_; }
  uint64_t depth() const { return queue_.depth(); }
  // After a reservation in the queue. False: closed.
  bool push(const Chain& chain);
  // Between two transactions: whether chunks may be compacted. Not while a large transaction is open.
  bool allows_steps() const;
  // For one that was admitted before and turned out to be crossing.
  void push_again(Transaction* transaction);

  // --- workers, at a border ---
  bool must_stop() const { return (attention_.load() & kStop) != 0; }
  bool crossing_waits() const { return (attention_.load() & kCrossingWaits) != 0; }
  bool needs_attention() const { return attention_.load() != 0; }  // any of them, or a pause
  // Whether the crossing ones that wait have their turn even though the worker has other work.
  bool is_due(int64_t now_ns) const;
  // No other than `self` executes, leads or is about to.
  bool is_nobody_at_work(const Worker* self) const;
  // The worker is busy. Returns when a group has run, or at once when another one leads.
  void lead(Worker* leader);
  // The same for one transaction that is a program, if it can run now. The leader's guest calls it. False: it has not
  // run, because another one leads, waits or works.
  bool try_lead(Worker* leader, Transaction* transaction);
  // Behind a guest that has become idle: nobody else may be awake to see what waits.
  void wake_for_crossing() {
    if (crossing_waits()) notify();
  }
  // A worker that stands still: runs some of the leader's read-only transactions, if there are any.
  bool has_readers() const { return open_readers_.load() != 0; }
  void help(Worker* helper);
  // A worker has become idle: the leader may be waiting for that.
  void tell_leader();

  // --- the fork gate: all workers stop where they are, whoever leads or helps ---
  // between_changes: also within transactions. `gate` is woken whenever a worker has stopped.
  void begin_pause(bool between_changes);
  Sleeper& gate() { return gate_; }
  void end_pause();
  bool is_pausing() const { return (attention_.load() & kPause) != 0; }
  bool is_pausing_within() const { return pauses_within_.load(std::memory_order_relaxed) && is_pausing(); }
  void tell_gate();
  // Returns when the pause is over.
  void sit_out_pause();

  // --- shutdown ---
  void begin_closing() { is_closing_.store(true); }
  bool is_closing() const { return is_closing_.load(); }
  void count_closed_worker() { closed_workers_.fetch_add(1); }
  // A worker with nothing left to do: when that holds for all, it is over.
  void try_finish();
  bool is_finished() const { return is_finished_.load(); }

 private:
  static constexpr uint32_t kCrossingWaits = 1;
  static constexpr uint32_t kStop = 2;
  static constexpr uint32_t kPause = 4;
  // A rendezvous costs some microseconds on each worker: at most one or two per cent of this. A crossing transaction
  // waits at most this long while the others are busy.
  static constexpr int64_t kTurnNs = 200'000;
  // A group ends here, so that the workers' queues do not run over meanwhile.
  static constexpr int64_t kGroupNs = 1'000'000;
  static constexpr uint32_t kGroupMax = 256;

  void notify();
  void hold_others(Worker* leader);
  void release_others(Worker* leader);
  void run_group(Worker* leader);
  void run_alone(Worker* leader, Transaction* transaction);
  void run_readers(Worker* leader);
  Transaction* next();

  bool is_held_back(Transaction* transaction);

  std::vector<Worker*> workers_;
  LargeTransactions* large_ = nullptr;
  TransactionQueue queue_;
  alignas(64) std::atomic<uint32_t> attention_{0};  // read at every border
  alignas(64) std::atomic<bool> is_led_{false};
  std::atomic<Worker*> leader_{nullptr};
  std::atomic<int64_t> turn_ends_ns_{0};  // of the workers' own transactions
  std::atomic<bool> is_closing_{false};
  std::atomic<bool> is_finished_{false};
  std::atomic<uint32_t> closed_workers_{0};

  std::atomic<uint32_t> pause_{0};  // what sit_out_pause() waits on: 1 while pausing
  std::atomic<bool> pauses_within_{false};
  Sleeper gate_;  // the gate's; here, as a worker may still wake it when the gate has gone

  // the leader's
  Transaction* taken_ = nullptr;  // from the queue, not yet run
  std::array<Transaction*, kGroupMax> readers_{};
  uint32_t reader_count_ = 0;

  // Read-only transactions that helpers may take: open_readers_ of readers_, those from next_reader_ on are free.
  std::atomic<uint32_t> open_readers_{0};
  std::atomic<uint32_t> next_reader_{0};
  std::atomic<uint32_t> helpers_{0};
};

}  // namespace scyper::primary
