#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "primary/engine.h"
#include "query/session_activity.h"
#include "query/settings.h"
#include "sleeper.h"

namespace scyper::primary {

// Says whether the caller of a transaction still waits for it. A transaction that stands in a queue may have to stay
// there for seconds, behind a block that runs alone. When its statement is cancelled or its time is over, the caller
// leaves it in the queue and goes on. Whoever takes it out of the queue then answers it without running it. So such a
// transaction lives until it was answered, not only as long as its caller waits.
//
//   queued --take()--> taken --queue()--> queued     by the thread that runs it
//   queued --leave()--> left                         by its caller
//
// Invariant: nobody reads what the transaction's arguments, settings and limits point to once it was left.
// Threads: any.
class Claim {
 public:
  // Before the transaction runs. False: its caller has left it.
  bool take() {
    State expected = State::kQueued;
    return state_.compare_exchange_strong(expected, State::kTaken, std::memory_order_acq_rel);
  }
  // False: it runs, or waits for a block. The watchdog ends it then.
  bool leave() {
    State expected = State::kQueued;
    return state_.compare_exchange_strong(expected, State::kLeft, std::memory_order_acq_rel);
  }
  // It was taken, has left no trace, and goes to a queue again.
  void queue() {
    State expected = State::kTaken;
    state_.compare_exchange_strong(expected, State::kQueued, std::memory_order_acq_rel);
  }
  bool is_queued() const { return state_.load(std::memory_order_acquire) == State::kQueued; }
  bool is_left() const { return state_.load(std::memory_order_acquire) == State::kLeft; }

  // The transaction itself, which is kept until it is answered.
  void keep(std::shared_ptr<void> self) { self_ = std::move(self); }
  std::shared_ptr<void> release() { return std::move(self_); }

 private:
  enum class State : uint8_t { kQueued, kTaken, kLeft };
  std::atomic<State> state_{State::kQueued};
  std::shared_ptr<void> self_;
};

// The same of a transaction, whose caller may have no claim: it waits for the answer then.
inline bool take_claim(Transaction* transaction) { return transaction->claim == nullptr || transaction->claim->take(); }
inline void queue_claim(Transaction* transaction) {
  if (transaction->claim != nullptr) transaction->claim->queue();
}

// As `done`, of a transaction with a completion that its claim keeps until it was answered.
template <class Kept>
void signal_kept(Transaction* transaction) {
  const std::shared_ptr<void> kept = transaction->claim->release();
  static_cast<Kept*>(transaction)->completion.signal();
}

// Sessions that wait in a queue for longer than a short transaction takes, for pg_locks. Threads: any.
class QueueWaits {
 public:
  // While it lives, the session waits; it has the claim.
  class Entry {
   public:
    Entry(QueueWaits* all, int32_t pid, const Claim* claim);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend class QueueWaits;
    QueueWaits* const all_;
    const int32_t pid_;
    const Claim* const claim_;
    const int64_t since_us_;
  };
  // The session that has the node for itself, for which they wait; 0: it has no number. kNobody: they wait for their
  // turn only.
  static constexpr int32_t kNobody = -1;
  void set_alone(int32_t pid) { alone_.store(pid, std::memory_order_relaxed); }
  bool is_anybody_alone() const { return alone_.load(std::memory_order_relaxed) != kNobody; }
  std::vector<query::SessionLock> locks();

 private:
  std::atomic<int32_t> alone_{kNobody};
  Mutex mutex_;
  std::set<const Entry*> entries_ ABSL_GUARDED_BY(mutex_);
};

// Waits for the answer of a transaction. If its statement is cancelled or late while it stands in a queue, the caller
// leaves it there: 57014. So it does where the work of this thread has to end (base/bounded_work.h).
// waits: where a wait that takes longer is noted, for the session with these settings; null: nowhere.
Status wait_or_leave(Completion* completion, Claim* claim, const std::atomic<bool>* cancelled, int64_t deadline_ns,
                     QueueWaits* waits = nullptr, const query::SettingValues* settings = nullptr);

}  // namespace scyper::primary
