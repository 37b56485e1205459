#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/client.h"

namespace scyper::client {

// Transactions on a cluster whose primary is elected: finds it among the nodes given and by the hints of those that are
// not, and sends a call again under the same identity until it is answered, so that it is done once whatever happens.
// Threads: one.
class ClusterClient {
 public:
  // targets: host:port of nodes; all else as in `options`, whose target does not count. timeout_ms: until a call has
  // failed, through all its attempts; attempt_ms: of one.
  ClusterClient(ConnectOptions options, std::vector<std::string> targets, int timeout_ms, int attempt_ms = 1000);

  // One transaction. 40003: an attempt had no answer (or its node does not remember it), so whether it was done is not
  // known. After any other error it was not done.
  Status call(const std::string& sql, std::span<const Datum> arguments, query::ResultSet* result);
  // The node that answered last.
  const std::string& target() const { return target_; }

 private:
  Status try_call(const std::string& sql, std::span<const Datum> arguments, query::ResultSet* result,
                  const CallIdentity& identity, bool* is_sent);
  void forget(const Status& why);

  const ConnectOptions options_;
  const std::vector<std::string> targets_;
  const int timeout_ms_;
  const int attempt_ms_;
  const uint64_t client_id_;
  uint64_t last_request_ = 0;
  size_t next_ = 0;
  bool has_target_ = false;  // target_ is asked next, too
  std::string target_;
  std::string hinted_;
  struct Connection {
    std::unique_ptr<Client> client;
    std::map<std::string, std::shared_ptr<const Prepared>> prepared;  // by text
  };
  std::map<std::string, Connection> connections_;  // by target
};

// "a:1,b:2" in its parts.
std::vector<std::string> split_targets(const std::string& targets);

}  // namespace scyper::client
