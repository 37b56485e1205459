#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "consensus/cluster_keys.h"
#include "server/config.h"

// `scyper doctor`: is this machine fit for a node with this configuration? Looks, and changes nothing but a temporary
// file in the data directory.
namespace scyper::client {

struct Finding {
  enum class Level : uint8_t { kGood, kSkipped, kWarning, kBad };  // bad: the node will not start, or not work
  Level level = Level::kGood;
  std::string name;    // of the check: "memory"
  std::string what;    // was found
  std::string advice;  // what to do; empty when there is nothing
};
const char* level_name(Finding::Level level);

// The files of the kernel that checks read, below `root`: "/" for this machine, a directory in tests.
class KernelFiles {
 public:
  explicit KernelFiles(std::string root) : root_(std::move(root)) {}
  // Trimmed; empty: there is none, or it cannot be read.
  std::string text(const std::string& path) const;
  // -1: no number stands there.
  int64_t number(const std::string& path) const;
  // Of a file of lines like "MemTotal:  24576 kB", in bytes; -1: not there.
  int64_t bytes(const std::string& path, const std::string& key) const;

 private:
  const std::string root_;
};

// What the kernel is told: memory, huge pages, accounting, swapping, mappings, clock.
std::vector<Finding> examine_kernel(const KernelFiles& kernel, const server::NodeConfig& config);
// Descriptors, threads, cores.
std::vector<Finding> examine_limits(const server::NodeConfig& config);
// Room and time to disk of the data directory; skipped without one.
std::vector<Finding> examine_disk(const server::NodeConfig& config);
// Whether an RDMA device may lock so much memory. is_exempt: no limit counts (CAP_IPC_LOCK).
Finding examine_locked_memory(uint64_t limit_bytes, bool is_exempt, uint64_t needed_bytes);
// Addresses to listen on, multicast and RDMA where they are configured.
std::vector<Finding> examine_network(const server::NodeConfig& config);

// Says whether the voters of a cluster are there and complete.
Finding examine_voters(const consensus::ClusterKeys::Seen& seen);
// The same of the cluster that the configuration names; etcd is asked.
std::vector<Finding> examine_cluster(const server::NodeConfig& config);

// All of them, of this machine.
std::vector<Finding> examine_machine(const server::NodeConfig& config);
std::string findings_text(const std::vector<Finding>& findings);

// Of a node's TOML file (empty: none) and the variables SCYPER_*.
StatusOr<server::NodeConfig> read_node_config(const std::string& path);

struct DoctorOptions {
  std::string config_path;  // empty: the defaults
};
// Exit code: kExitCheck when something is bad.
int run_doctor(const DoctorOptions& options, bool is_json);

}  // namespace scyper::client
