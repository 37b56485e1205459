#pragma once

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
// Threads: any.
class LeaseGuard {
 public:
  // Before this process has any threads and before it uses gRPC.
  // on_progress: called in that process; may be empty.
  static StatusOr<std::unique_ptr<LeaseGuard>> start(const EtcdOptions& options,
                                                     const std::function<void(const std::string&)>& on_progress = {});
  ~LeaseGuard();
  // 0: none.
  void set(int64_t lease);

 private:
  explicit LeaseGuard(int pipe) : pipe_(pipe) {}
  const int pipe_;
};

}  // namespace scyper::consensus
