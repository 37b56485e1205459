#pragma once

#include <cstdint>

namespace grpc {
class ServerContextBase;
}

namespace scyper::server {

// When a call must end: its own timeout or the RPC's deadline, whichever is first; monotonic, 0 = never.
int64_t deadline_ns_of(const grpc::ServerContextBase& context, uint32_t timeout_ms);

}  // namespace scyper::server
