#include "fork_gate.h"

#include <pthread.h>

#include <utility>

#include "executor.h"
#include "query/stopping.h"
#include "rendezvous.h"
#include "worker.h"

namespace scyper::primary {

namespace {
// About what a transaction takes; then the gate sleeps until the last worker has stopped.
constexpr int kPauseSpins = 500;
constexpr int kExitFailed = 1;
}  // namespace

ForkGate::ForkGate(ExecutorEnvironment* environment, Rendezvous* rendezvous, std::vector<Worker*> workers,
                   ForkMode mode)
    : environment_(environment), rendezvous_(rendezvous), workers_(std::move(workers)), mode_(mode) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "fork-gate");
}

ForkGate::~ForkGate() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

StatusOr<Forked> ForkGate::fork(ForkRequest request) {
  Waiting waiting(&request);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_) return query::stopping_error();
    waiting_.push_back(&waiting);
  }
  wake_.notify_one();
  waiting.completion.wait();
  return std::move(waiting.answer);
}

void ForkGate::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Waiting* next = waiting_.front();
    waiting_.pop_front();
    const bool is_refused = is_stopping_;
    lock.unlock();
    next->answer = is_refused ? query::stopping_error() : fork_now(next->request);
    next->completion.signal();
    lock.lock();
  }
}

StatusOr<Forked> ForkGate::fork_now(ForkRequest* request) {
  ForkPoint point;
  point.number = ++forks_;
  const int64_t start_ns = environment_->clock.monotonic_ns();
  pause_workers();
  point.lsn = environment_->lsns.last.load(std::memory_order_relaxed);
  point.catalog = environment_->database->catalog();
  point.time_us = environment_->clock.now_us();
  point.monotonic_ns = environment_->clock.monotonic_ns();
  point.unfinished = count_unfinished();
  if (request->at_cut) request->at_cut(point);
  StatusOr<std::unique_ptr<storage::ChildProcess>> child = absl::UnknownError("not forked");
  environment_->database->while_no_code_is_linked([&] {
    const int64_t fork_ns = environment_->clock.monotonic_ns();
    storage::ChildOptions options = request->child;
    options.arena = environment_->database->arena();
    options.frozen = environment_->database->frozen_memory();
    if (storage::FrozenTier* tier = environment_->database->tier(); tier != nullptr)
      options.pages = tier->caches().all();
    child = storage::ChildProcess::fork(options, [&](int socket) { return run_child(*request, point, socket); });
    point.fork_ns = environment_->clock.monotonic_ns() - fork_ns;
  });
  rendezvous_->end_pause();
  point.stall_ns = environment_->clock.monotonic_ns() - start_ns;
  if (!child.ok()) return child.status();
  environment_->database->arena()->forked((*child)->pid());
  (*child)->wait_until_watched();
  return Forked{*std::move(child), std::move(point)};
}

void ForkGate::pause_workers() {
  const bool between_changes = mode_.load(std::memory_order_relaxed) == ForkMode::kActionConsistent;
  rendezvous_->begin_pause(between_changes);
  Sleeper& sleeper = rendezvous_->gate();
  if (between_changes) {
    for (Worker* worker : workers_) worker->executor().raise_safepoint();
    if (large_ != nullptr) large_->raise_safepoint();
  }
  for (Worker* worker : workers_) {
    int spins = 0;
    while (worker->is_at_work()) {
      if (++spins < kPauseSpins) {
        spin_pause();
        continue;
      }
      sleeper.prepare();
      if (worker->is_at_work()) {
        sleeper.sleep();
      } else {
        sleeper.cancel();
      }
    }
  }
}

uint32_t ForkGate::count_unfinished() const {
  uint32_t count = large_ != nullptr && !large_->log()->empty() ? 1 : 0;
  for (Worker* worker : workers_) count += worker->executor().log()->empty() ? 0 : 1;
  return count;
}

// Each log's changes lie in partitions that no other running transaction touches, so their order does not matter.
int ForkGate::run_child(const ForkRequest& request, const ForkPoint& point, int socket) noexcept {
  for (Worker* worker : workers_) {
    storage::ChangeLog* log = worker->executor().log();
    if (!log->empty()) log->rollback_all();
  }
  if (large_ != nullptr) large_->log()->rollback_all();  // also where it has committed and frees what was before
  if (!request.body) return kExitFailed;
  return request.body(ForkedDatabase{environment_->database, point}, socket);
}

}  // namespace scyper::primary
