#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "primary/engine.h"
#include "secondary/node.h"
#include "server/server.h"

// A node's configuration. Every setting has one name: key `queue_capacity` of the TOML file, flag --queue-capacity,
// variable SCYPER_QUEUE_CAPACITY. Flags win over variables, variables over the file.
namespace scyper::server {

enum class Role : uint8_t { kPrimary, kSecondary };

// Elections through etcd (docs/failover.md); without a name there are none.
struct ClusterSettings {
  std::string name;
  std::string etcd;  // host:port, separated by commas
  std::string etcd_ca;
  std::string etcd_cert;
  std::string etcd_key;
  std::string voters;  // node names, separated by commas; put into etcd by who comes first
  uint64_t lease_us = 2'000'000;
  uint64_t watchdog_us = 10'000'000;
  std::string peer_listen = "127.0.0.1:0";
  std::string peer_advertise;
};

struct NodeConfig {
  Role role = Role::kPrimary;
  secondary::NodeOptions secondary;  // what it shares with the engine is set from there
  ServerOptions server;
  primary::EngineOptions engine;
  ClusterSettings cluster;
  std::string failpoints;  // for tests
};

struct Setting {
  std::string key;
  std::string help;
  bool is_switch = false;  // a flag without a value means true
  // Sets from text; errors name what is allowed.
  std::function<Status(NodeConfig*, std::string_view)> set;
  // The value as TOML writes it.
  std::function<std::string(const NodeConfig&)> get;
  std::string group = {};  // what it belongs to, as --help and docs/configuration.md have it
};

const std::vector<Setting>& settings();
// By group, with the defaults: docs/configuration.md.
std::string settings_reference();
// nullptr when there is none of that key.
const Setting* find_setting(std::string_view key);

using Assignment = std::pair<std::string, std::string>;  // key, value

// The three sources as text; errors name the file and line, variable or flag.
StatusOr<std::vector<Assignment>> read_config_file(const std::string& path);
StatusOr<std::vector<Assignment>> read_config_environment(char** environment);

// Applies `file`, then `environment`, then `flags`.
StatusOr<NodeConfig> make_config(const std::vector<Assignment>& file, const std::vector<Assignment>& environment,
                                 const std::vector<Assignment>& flags);
// A TOML file that gives this configuration.
std::string print_config(const NodeConfig& config);

// "8GB", "512 MiB", "4096" in bytes; "1.5s", "200ms", "3min" in microseconds.
StatusOr<uint64_t> parse_bytes(std::string_view text);
StatusOr<uint64_t> parse_duration_us(std::string_view text);
std::string format_bytes(uint64_t bytes);
std::string format_duration_us(uint64_t us);

}  // namespace scyper::server
