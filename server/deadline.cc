#include "deadline.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <chrono>

#include "node_parts.h"

namespace scyper::server {

int64_t deadline_ns_of(const grpc::ServerContextBase& context, uint32_t timeout_ms) {
  int64_t now_ns = monotonic_ns();
  int64_t deadline_ns = timeout_ms == 0 ? 0 : now_ns + int64_t{timeout_ms} * 1'000'000;
  auto remaining = context.deadline() - std::chrono::system_clock::now();
  // A client without deadline is given the end of time, whose distance would overflow when added.
  if (remaining < std::chrono::hours(24 * 365)) {
    int64_t at_ns = now_ns + std::chrono::duration_cast<std::chrono::nanoseconds>(remaining).count();
    deadline_ns = deadline_ns == 0 ? at_ns : std::min(deadline_ns, at_ns);
  }
  return deadline_ns;
}

}  // namespace scyper::server
