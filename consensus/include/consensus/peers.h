#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/tls_files.h"
#include "consensus/elector.h"

namespace scyper::consensus {

struct PeerOptions {
  std::string cluster;            // its name in etcd: others are refused
  std::string listen;             // host:port; port 0 picks a free one
  std::shared_ptr<TlsFiles> tls;  // null: none. Else peers show a certificate of its authorities with their own name
  // Whether a node may ask; why one was not allowed to. By TLS only; either may be empty. Called on gRPC's threads.
  std::function<bool(const std::string& node)> is_member;
  std::function<void(const std::string& why)> on_refused;
};

// Answers the fences of candidates, and primaries without etcd (proto/failover.proto), whatever the node's role.
// Threads: gRPC's.
class PeerServer {
 public:
  // Called for each fence; may wait for the disk. Unavailable: no answer.
  using OnFence = std::function<StatusOr<FenceAnswer>(const Promise& wanted)>;
  // Likewise: whether it is granted.
  using OnGrant = std::function<StatusOr<bool>(const std::string& from, uint64_t term)>;
  static StatusOr<std::unique_ptr<PeerServer>> start(const PeerOptions& options, OnFence on_fence, OnGrant on_grant);
  virtual ~PeerServer() = default;  // waits for the calls that run: have OnFence answer before
  virtual uint16_t port() const = 0;
};

// Asks other voters. Threads: any.
class PeerClient {
 public:
  static std::unique_ptr<PeerClient> make(const PeerOptions& options, const std::string& node);
  virtual ~PeerClient() = default;
  // address: of its PeerServer. config: version of the voters. Within timeout_us; cancel() ends it.
  virtual StatusOr<FenceAnswer> fence(const std::string& address, uint64_t term, uint64_t config,
                                      int64_t timeout_us) = 0;
  virtual StatusOr<bool> grant(const std::string& address, uint64_t term, int64_t timeout_us) = 0;
  virtual void cancel() = 0;
};

}  // namespace scyper::consensus
