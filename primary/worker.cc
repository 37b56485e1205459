#include "worker.h"

#include <pthread.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "claim.h"

namespace scyper::primary {

namespace {
// A few microseconds: what a client needs to send the next batch, and little beside a futex call. On few cores longer
// spinning takes time from those who make the work.
constexpr int kIdleSpins = 100;
}  // namespace

Worker::Worker(uint32_t number, std::unique_ptr<Executor> executor, Rendezvous* rendezvous,
               const EngineOptions& options)
    : number_(number),
      executor_(std::move(executor)),
      rendezvous_(rendezvous),
      is_only_one_(options.workers == 1),
      queue_(options.queue_capacity) {
  executor_->set_safepoint(
      [](void* self) {
        auto* worker = static_cast<Worker*>(self);
        if (worker->rendezvous_->is_pausing_within()) worker->sit_out_pause();
      },
      this);
}

void Worker::start() {
  thread_ = std::thread([this] { run(); });
  std::string name = "worker" + std::to_string(number_);
  pthread_setname_np(thread_.native_handle(), name.c_str());
}

bool Worker::try_hold() {
  State expected = State::kIdle;
  return state_.compare_exchange_strong(expected, State::kHeld);
}

void Worker::release() {
  CHECK(state_.load() == State::kHeld);
  state_.store(State::kIdle);
  if (wants_to_run_.load()) sleeper_.wake();
}

bool Worker::try_enter() {
  const bool has_own = is_in_midst_.load() || wants_to_run_.load() || !queue_.empty();
  if (has_own || rendezvous_->must_stop()) return false;
  State expected = State::kIdle;
  if (!state_.compare_exchange_strong(expected, State::kBusy)) return false;
  begin_work();
  if (!rendezvous_->is_closing()) [[likely]]
    return true;
  leave();
  return false;
}

void Worker::leave() {
  executor_->flush_redo();
  stand_still();
  if (wants_to_run_.load()) sleeper_.wake();
  rendezvous_->wake_for_crossing();
}

void Worker::run() {
  while (become_busy()) {
    run_queue();
    executor_->flush_redo();
    stand_still();
  }
}

void Worker::stand_still() {
  end_work();
  state_.store(State::kIdle);
  rendezvous_->tell_leader();
}

bool Worker::has_reason() const {
  return is_in_midst_ || !queue_.empty() || is_step_due_ ||
         (rendezvous_->crossing_waits() && rendezvous_->is_nobody_at_work(this));
}

// From idle to busy, when there is something to do and no rendezvous. False: the engine has stopped.
bool Worker::become_busy() {
  int spins = 0;
  while (true) {
    close_if_asked();
    if (rendezvous_->is_finished()) return false;
    if (rendezvous_->has_readers()) rendezvous_->help(this);
    bool has_work = has_reason();
    if (has_work != wants_to_run_.load(std::memory_order_relaxed)) wants_to_run_.store(has_work);
    if (has_work && !rendezvous_->must_stop()) {
      State expected = State::kIdle;
      if (state_.compare_exchange_strong(expected, State::kBusy)) {
        wants_to_run_.store(false, std::memory_order_relaxed);
        begin_work();
        return true;
      }
    }
    if (++spins < kIdleSpins) {
      spin_pause();
      continue;
    }
    spins = 0;
    sleeper_.prepare();
    bool stays_awake = has_reason() && (may_become_busy() || !wants_to_run_.load(std::memory_order_relaxed));
    if (stays_awake || rendezvous_->has_readers() || rendezvous_->is_finished() ||
        (rendezvous_->is_closing() && !is_closed_)) {
      sleeper_.cancel();
    } else {
      sleeper_.sleep();
    }
  }
}

void Worker::close_if_asked() {
  if (!rendezvous_->is_closing()) [[likely]]
    return;
  if (!is_closed_ && !is_in_midst_ && queue_.try_close()) {
    is_closed_ = true;
    rendezvous_->count_closed_worker();
  }
  if (is_closed_) rendezvous_->try_finish();
}

// Until the queue is empty or a rendezvous stops it at a border.
void Worker::run_queue() {
  do {
    if (rendezvous_->needs_attention()) {
      pass_border();
      if (rendezvous_->must_stop()) return;
      consider_leading();
    }
    Transaction* transaction = queue_.take_all();
    while (transaction != nullptr) {
      if (rendezvous_->needs_attention()) [[unlikely]]
        attend();
      Transaction* next = transaction->next;
      __builtin_prefetch(next);
      queue_.finish();  // waits no more
      run_one(transaction);
      transaction = next;
      if (is_step_due_.load(std::memory_order_relaxed)) [[unlikely]]
        take_step();
    }
    if (is_step_due_.load(std::memory_order_relaxed)) take_step();
  } while (!queue_.empty() || is_step_due_.load(std::memory_order_relaxed));
  if (rendezvous_->crossing_waits()) consider_leading();
}

// Between two transactions. What makes steps due while this one runs is not forgotten.
void Worker::take_step() {
  is_step_due_.store(false);
  if (!rendezvous_->allows_steps()) return;  // they are due again when it has ended
  if (executor_->take_step()) is_step_due_.store(true);
}

// Either the gate sees is_at_work_, or this sees the pause: both sides write before they read.
void Worker::begin_work() {
  is_at_work_.store(true);
  while (rendezvous_->is_pausing()) {
    end_work();
    rendezvous_->sit_out_pause();
    is_at_work_.store(true);
  }
}

void Worker::end_work() {
  is_at_work_.store(false);
  if (rendezvous_->is_pausing()) rendezvous_->tell_gate();
}

void Worker::sit_out_pause() {
  end_work();
  begin_work();
}

// Between two transactions in hand.
void Worker::attend() {
  pass_border();
  if (!rendezvous_->must_stop()) return consider_leading();
  is_in_midst_ = true;
  stand_still();
  bool goes_on = become_busy();
  CHECK(goes_on);
  is_in_midst_ = false;
}

void Worker::consider_leading() {
  if (!rendezvous_->crossing_waits()) return;
  bool has_time = queue_.empty() && rendezvous_->is_nobody_at_work(this);
  if (has_time || rendezvous_->is_due(executor_->now_ns())) rendezvous_->lead(this);
}

void Worker::run_one(Transaction* transaction) {
  if (!take_claim(transaction)) [[unlikely]]
    return transaction->done(transaction);
  Executor::Verdict verdict = executor_->execute(transaction);
  if (verdict == Executor::Verdict::kMoved) [[unlikely]] {
    if (!is_only_one_) {
      queue_claim(transaction);
      return rendezvous_->push_again(transaction);
    }
    // it has the node for itself already
    verdict = executor_->execute(transaction);
    CHECK(verdict != Executor::Verdict::kMoved);
  }
  if (verdict == Executor::Verdict::kParked) [[unlikely]]
    return;
  executor_->answer(transaction);
}

}  // namespace scyper::primary
