#pragma once

#include <cstdint>
#include <functional>
#include <string>

// What gRPC says of itself: it tells nobody else of connections that end in TLS's handshake. Threads: any.
namespace scyper::server {

// From now on gRPC's errors of this process come here: failed handshakes are counted, and said at most once a second
// (gRPC does not say whose they were); the rest is dropped. Call it once, before gRPC begins; with GRPC_VERBOSITY set
// everything goes to standard error as without it.
void take_grpc_messages(std::function<void(const std::string& line)> say);

// Since then, of those who came and of those whom this process asked: wrong, missing or expired certificates, no TLS.
uint64_t failed_handshakes();

}  // namespace scyper::server
