#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "client/ch/generator.h"
#include "network_spaces.h"
#include "oltp.h"
#include "programs.h"
#include "session.h"

namespace scyper::client {

// What a node's processes have computed so far, in microseconds.
struct NodeCpu {
  double own_us = 0;
  double children_us = 0;  // where queries run; the multicast process aside
};

// A primary and its secondaries as processes, each in a network namespace of its own where they can be made. All end
// with it. Node 0 is the primary. Threads: session() and what only looks any, the rest one.
class BenchCluster {
 public:
  // secondaries: most that there will be.
  BenchCluster(const CommonOptions& common, const ReplicationBenchOptions& options, uint32_t secondaries)
      : common_(common), options_(options), secondaries_max_(secondaries) {}
  ~BenchCluster();

  // digest_period_s: how often states are compared; 0 = never.
  Status start_primary(uint32_t digest_period_s);
  // One more; does not wait for it.
  Status add_secondary();
  // All of them, with a database whose state all secondaries have.
  Status start(uint32_t digest_period_s, const ch::Generator& generator);

  uint32_t secondaries() const { return static_cast<uint32_t>(pids_.size()) - 1; }
  std::string target(uint32_t node) const;
  ConnectOptions connection(uint32_t node) const;
  pid_t pid(uint32_t node) const { return pids_[node]; }
  StatusOr<std::unique_ptr<Session>> session(uint32_t node) const;
  NodeCpu cpu(uint32_t node) const;
  // Percent of the multicast datagrams that reach a secondary, from now on.
  Status set_loss(uint32_t percent) const;

  // Until all secondaries serve what the primary has; its status then.
  StatusOr<NodeStatus> wait_until_level(Session* admin) const;
  // Until the state of all of them has been compared at an LSN or later.
  StatusOr<NodeStatus> wait_until_compared(Session* admin, uint64_t lsn) const;

 private:
  void add(const std::vector<std::string>& flags);
  std::string key_file() const;
  Status wait_for_node(uint32_t node) const;
  template <typename Condition>
  StatusOr<NodeStatus> wait_for(Session* admin, const char* failure, Condition holds) const;

  const CommonOptions& common_;
  const ReplicationBenchOptions& options_;
  const uint32_t secondaries_max_;
  std::string directory_;
  bool has_spaces_ = false;
  NetworkSpaces spaces_;
  std::vector<pid_t> pids_;
};

// The load, again and again until it is stopped. Threads: one, and one of its own.
class BackgroundLoad {
 public:
  BackgroundLoad(ConnectOptions target, const ch::Generator& generator, const OltpOptions& options);
  ~BackgroundLoad() { static_cast<void>(stop()); }
  // Transactions per second since it began.
  StatusOr<double> stop();

 private:
  void run();

  const ConnectOptions target_;
  const ch::Generator& generator_;
  OltpOptions options_;
  std::atomic<bool> is_over_{false};
  double completed_ = 0, seconds_ = 0;
  Status status_;
  std::thread thread_;
};

// Few calls outstanding, so that there is room for queries.
OltpOptions light_load(const ReplicationBenchOptions& options);
pid_t pgm_of(pid_t node);  // its multicast process; -1: none
// User and system time of a process so far, in microseconds; 0 when it is gone.
double cpu_us(pid_t pid);
double seconds_since(std::chrono::steady_clock::time_point start);

}  // namespace scyper::client
