#pragma once

#include <condition_variable>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "primary/fork.h"
#include "sleeper.h"

namespace scyper::primary {

class Rendezvous;
class Executor;
class Worker;
struct ExecutorEnvironment;

// The one place that forks: a thread that lives as long as the engine, so that children do not outlive it and none is
// killed early (storage/child_process.h). A fork is one after the other:
//   workers are paused (Rendezvous::begin_pause) -> no code is linked -> the cut is drawn -> fork() -> they go on
//   child: takes back unfinished transactions, then runs the request's body
// Invariants: (1) at the fork no worker is inside a change of tables, indexes or arena; (2) a transaction is either
//   unfinished in its worker's change log or has an LSN up to the cut's.
// Threads: fork() any but a worker's.
class ForkGate {
 public:
  ForkGate(ExecutorEnvironment* environment, Rendezvous* rendezvous, std::vector<Worker*> workers, ForkMode mode);
  ~ForkGate();  // refuses what waits

  // 57P03 when the engine stops, 58030 when the system refuses.
  StatusOr<Forked> fork(ForkRequest request);
  // That of large transactions, which have their own thread. Before the first fork.
  void set_large(Executor* large) { large_ = large; }
  void set_mode(ForkMode mode) { mode_.store(mode, std::memory_order_relaxed); }

 private:
  struct Waiting {
    explicit Waiting(ForkRequest* made) : request(made) {}
    ForkRequest* const request;
    StatusOr<Forked> answer = absl::UnknownError("not forked");
    Completion completion;
  };

  void run();
  StatusOr<Forked> fork_now(ForkRequest* request);
  void pause_workers();
  int run_child(const ForkRequest& request, const ForkPoint& point, int socket) noexcept;
  uint32_t count_unfinished() const;

  ExecutorEnvironment* const environment_;
  Rendezvous* const rendezvous_;
  const std::vector<Worker*> workers_;
  Executor* large_ = nullptr;
  std::atomic<ForkMode> mode_;
  uint64_t forks_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting*> waiting_;  // under mutex_, as is the next
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace scyper::primary
