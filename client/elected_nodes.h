#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/client.h"
#include "network_spaces.h"

namespace scyper::client {

// An etcd and nodes that elect their primary, on this machine's loopback, as processes of their own.
// Threads: one.
class ElectedNodes {
 public:
  struct Options {
    std::string directory;  // is there; data and messages
    uint32_t count = 3;     // all vote
    uint16_t port = 0;      // of the first node, the others' follow; 0: free ones
    std::string memory = "512MB";
    std::string commit_mode = "quorum_durable";
    std::string lease_ttl = "2s";
    std::vector<std::string> flags;  // of every node, besides
    bool has_spaces = false;         // each node in a network namespace of its own, to be isolated; needs root
  };
  // 58P01: there is no etcd to start.
  explicit ElectedNodes(Options options) : options_(std::move(options)) {}
  ~ElectedNodes();  // kills what runs
  static bool is_possible();

  Status start();
  void stop();  // in good order
  // Of a node by its number; waits for the end.
  void kill(size_t node, int signal_number);
  void start_again(size_t node);
  // SIGSTOP, until it stands still, and SIGCONT.
  void freeze(size_t node);
  void thaw(size_t node);
  // From etcd, the other nodes and clients; where there are namespaces.
  Status isolate(size_t node, bool is_isolated);
  void kill_etcd();
  Status start_etcd();
  size_t count() const { return nodes_.size(); }
  std::string name(size_t node) const { return nodes_[node].name; }
  std::string target(size_t node) const;
  std::vector<std::string> targets() const;
  std::string etcd() const;  // host:port
  std::vector<pid_t> pids() const;
  // 58030: a process has ended that nobody has ended.
  Status check() const;
  // The primary, once all others follow it and take queries.
  std::optional<size_t> primary(const ConnectOptions& connect) const;
  void leave() { is_left_ = true; }  // they go on behind this process

 private:
  struct Process {
    std::string name;
    uint16_t port = 0;
    std::vector<std::string> arguments;
    pid_t pid = -1;
  };
  void launch_node(Process* process) const;
  Status begin_etcd();
  std::string host(size_t node) const;

  const Options options_;
  NetworkSpaces spaces_;
  Process etcd_;
  std::vector<Process> nodes_;
  bool is_left_ = false;
};

}  // namespace scyper::client
