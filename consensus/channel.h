#pragma once

#include <memory>
#include <string>

#include "base/tls_files.h"

namespace grpc {
class Channel;
}

namespace scyper::consensus {

struct ChannelOptions {
  const TlsTexts* tls = nullptr;  // null: plaintext
  int reconnect_ms = 200;         // between tries, at most
  int keepalive_ms = 0;           // silence after which the peer is asked; 0 = never
};

// A gRPC channel of its own, with short pauses between tries: elections do not wait for gRPC's. Any thread.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const ChannelOptions& options);

}  // namespace scyper::consensus
