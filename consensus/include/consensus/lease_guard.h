#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "consensus/etcd.h"

namespace scyper::consensus {

// A process beside this one that gives the primary's lease back as soon as this one has ended or become another
// program, however that came: so that nobody waits for the lease of a process that is not there. It notices by a pipe.
// Revoking is safe at any time (docs/failover.md): terms rest on promises, and who is gone answers no strong read.
// Where it cannot do it, or is killed as well, the lease ends by itself.
// It is a watchdog, too: a primary ends its process when its lease has ended (docs/failover.md). One that is stuck and
// does not is killed, so that who started it starts it anew. It could confirm nothing anyway.
// Threads: any.
class LeaseGuard {
 public:
  // Before this process has any threads and before it uses gRPC.
  // stuck_us: behind the time of watch(), as far as the watchdog itself was let run meanwhile; 0: nothing is killed.
  // on_progress: called in that process; may be empty.
  static StatusOr<std::unique_ptr<LeaseGuard>> start(const EtcdOptions& options, int64_t stuck_us,
                                                     const std::function<void(const std::string&)>& on_progress = {});
  ~LeaseGuard();
  // 0: none.
  void set(int64_t lease);
  // By when this process has ended or has said something later (boot_time_us()). 0: it may take its time.
  void watch(int64_t until_us);

 private:
  struct Shared {
    std::atomic<int64_t> until_us{0};
  };
  LeaseGuard(int pipe, Shared* shared) : pipe_(pipe), shared_(shared) {}
  struct Guard;  // the other process

  const int pipe_;
  Shared* const shared_;
};

}  // namespace scyper::consensus
