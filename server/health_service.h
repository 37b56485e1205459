#pragma once

#include <unordered_set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "health.grpc.pb.h"
#include "rpc.h"

namespace scyper::server {

// grpc.health.v1.Health: whether the node, or one of its services by name, takes calls. On the completion loops, since
// gRPC's own one would bring the pollers of its callback API back (rpc.h).
// Threads: set_serving() and stop() the owner's.
class HealthService final : public grpc::health::v1::Health::AsyncService {
 public:
  class Watch;

  // For each loop, once the server was built.
  void serve(CompletionLoop* loop);
  void set_serving();
  // From here on the node does not; watches hear so and end, as a stop would wait for them.
  void stop();

 private:
  friend class Watch;
  using CheckRpc = UnaryRpc<grpc::health::v1::HealthCheckRequest, grpc::health::v1::HealthCheckResponse>;
  enum class State { kStarting, kServing, kStopping };

  void check(CheckRpc* rpc);
  void change(State state);
  enum class Event { kStarted, kWritten, kNotWritten, kGone };
  void note(Watch* watch, Event event);
  void advance(Watch* watch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kStarting;
  std::unordered_set<Watch*> watches_ ABSL_GUARDED_BY(mutex_);
  RpcMethods methods_;
};

}  // namespace scyper::server
