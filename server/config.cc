#include "server/config.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <toml.hpp>

#include "absl/strings/str_split.h"
#include "consensus/cluster_keys.h"
#include "replication/channels.h"
#include "replication/rdma_device_name.h"

namespace scyper::server {

namespace {

// Edit distance, for "did you mean".
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

Status unknown_key(const std::string& source, std::string_view key) {
  const Setting* nearest = nullptr;
  size_t least = 4;  // further apart it is no typing error
  for (const Setting& setting : settings()) {
    size_t d = distance(key, setting.key);
    if (d < least) {
      least = d;
      nearest = &setting;
    }
  }
  std::string message = source + ": unknown setting \"" + std::string(key) + "\"";
  if (nearest != nullptr) message += "; did you mean \"" + nearest->key + "\"?";
  return absl::InvalidArgumentError(message);
}

StatusOr<std::string> text_of(const toml::value& value) {
  if (value.is_string()) return value.as_string().str;
  if (value.is_boolean()) return std::string(value.as_boolean() ? "true" : "false");
  if (value.is_integer()) return std::to_string(value.as_integer());
  return absl::InvalidArgumentError("must be a string, a number or a boolean");
}

std::string place_of(const std::string& path, const toml::value& value) {
  return path + ":" + std::to_string(value.location().line());
}

Status apply(const std::vector<Assignment>& assignments, const std::string& source, NodeConfig* config) {
  for (const auto& [key, value] : assignments) {
    const Setting* setting = find_setting(key);
    if (setting == nullptr) return unknown_key(source, key);
    if (Status status = setting->set(config, value); !status.ok()) {
      return absl::InvalidArgumentError(source + ": " + key + ": " + std::string(status.message()));
    }
  }
  return {};
}

// What a node that sends by multicast needs: a group, and those and ports behind the first. By RDMA verbs there are no
// ports, unless they do not work and PGM takes their place.
Status check_channels(const NodeConfig& config) {
  const primary::ReplicationOptions& replication = config.engine.replication;
  const uint32_t more = replication.multicast_channels - 1;
  const bool is_sender =
      replication.is_on && config.role == Role::kPrimary && replication.transport != primary::TransportChoice::kUnicast;
  const bool may_use_pgm = !replication.multicast_interface.empty();
  const bool may_use_verbs =
      replication.transport == primary::TransportChoice::kRdma && (may_use_pgm || !replication.rdma.device.empty());
  if (!is_sender || !(may_use_pgm || may_use_verbs)) return {};
  SCYPER_RETURN_IF_ERROR(replication::channel_group(replication.multicast_group, more).status());
  const bool has_ports = may_use_pgm && !replication.multicast_is_raw;
  if (!has_ports || replication.multicast_port + more <= UINT16_MAX) return {};
  return sql_error("22023", "multicast_channels: there are no ports for all of them behind multicast_port");
}

// As with TLS for gRPC: what leaves the machine can be read and forged by whoever shares the network.
Status check_multicast(const NodeConfig& config) {
  const primary::ReplicationOptions& replication = config.engine.replication;
  replication::RdmaDeviceName name;
  if (!replication::RdmaDeviceName::parse(replication.rdma.device, &name)) {
    return absl::InvalidArgumentError("rdma_device: \"" + replication.rdma.device +
                                      "\" is no device, device:port or device:port:index");
  }
  SCYPER_RETURN_IF_ERROR(check_channels(config));
  // a secondary does as the primary does
  const bool may_use_device = config.role == Role::kSecondary || !config.cluster.name.empty() ||
                              replication.transport == primary::TransportChoice::kRdma ||
                              (replication.transport == primary::TransportChoice::kUnicast && replication.rdma.seeds);
  const bool has_device = may_use_device && !replication.rdma.device.empty();
  const std::string& where = has_device ? replication.rdma.device : replication.multicast_interface;
  if (where.empty() || !replication.multicast_key_file.empty()) return {};
  if (config.server.insecure_listen || (!has_device && is_loopback(where))) return {};
  return with_hint(absl::InvalidArgumentError("refusing multicast on " + where + " without encryption"),
                   "Give multicast_key_file, or insecure_listen where the network is trusted.");
}

// What has some of the partitions only is nobody's copy, and never leads.
Status check_subscription(const NodeConfig& config) {
  if (config.secondary.link.partitions.is_all()) return {};
  const char* other = nullptr;
  if (!config.cluster.name.empty()) {
    other = "cluster: it takes no part in elections";
  } else if (config.role != Role::kSecondary) {
    other = "role = \"primary\": a primary has all partitions";
  } else if (config.secondary.link.is_voter) {
    other = "voter: it has not all that a quorum confirms";
  } else if (!config.engine.log.directory.empty()) {
    other = "data_directory: it starts from the primary each time";
  } else if (!config.secondary.archive_directory.empty()) {
    other = "archive_directory: archives are of all partitions";
  }
  if (other == nullptr) return {};
  return absl::InvalidArgumentError(std::string("subscribe does not go with ") + other);
}

// What elections need, and what they do not go with yet.
Status check_cluster(const NodeConfig& config) {
  const ClusterSettings& cluster = config.cluster;
  if (cluster.name.empty()) {
    if (cluster.etcd.empty() && cluster.voters.empty()) return {};
    return absl::InvalidArgumentError("etcd and voter_names are for clusters: set cluster to its name");
  }
  const std::string& node = config.engine.queries.node;
  if (!consensus::is_key_name(cluster.name) || !consensus::is_key_name(node)) {
    return absl::InvalidArgumentError("cluster and node_name must be of letters, digits, \"-\", \"_\" and \".\"");
  }
  if (cluster.etcd.empty()) return absl::InvalidArgumentError("a cluster needs etcd: host:port of its members");
  const std::vector<std::string> voters = absl::StrSplit(cluster.voters, ',', absl::SkipEmpty());
  for (const std::string& voter : voters) {
    if (!consensus::is_key_name(voter)) {
      return absl::InvalidArgumentError("voter_names: \"" + voter + "\" is no name of a node");
    }
  }
  if (voters.empty()) return absl::InvalidArgumentError("a cluster needs voter_names");
  if (config.engine.log.directory.empty()) return absl::InvalidArgumentError("a cluster needs data_directory");
  if (config.server.listen.ends_with(":0"))
    return absl::InvalidArgumentError("a cluster needs listen with a fixed port");
  const primary::ReplicationOptions& replication = config.engine.replication;
  const bool is_unicast = replication.transport == primary::TransportChoice::kUnicast;
  if (!replication.multicast_interface.empty() || (!replication.rdma.device.empty() && !is_unicast)) {
    return absl::InvalidArgumentError(
        "a cluster does not send by multicast yet: leave out multicast_interface, and give rdma_device only with "
        "transport = \"unicast\", for archives and repairs");
  }
  if (config.role != Role::kPrimary || !config.secondary.link.target.empty()) {
    return absl::InvalidArgumentError("in a cluster role and primary are elected: leave them out");
  }
  const bool has_tls = !config.server.tls_cert.empty() && !config.server.tls_client_ca.empty();
  const bool is_exposed = !is_loopback(cluster.peer_listen) && !has_tls;
  if (is_exposed && !config.server.insecure_listen) {
    return with_hint(absl::InvalidArgumentError("refusing to listen on " + cluster.peer_listen + " without TLS"),
                     "Give tls_cert, tls_key and tls_client_ca, or insecure_listen where the network is trusted.");
  }
  return {};
}

}  // namespace

StatusOr<std::vector<Assignment>> read_config_file(const std::string& path) {
  std::vector<Assignment> assignments;
  if (std::ifstream readable(path); !readable) {
    return absl::InvalidArgumentError(path + ": cannot be read: " + std::strerror(errno));
  }
  try {
    toml::value file = toml::parse(path);
    for (const auto& [key, value] : file.as_table()) {
      if (value.is_table()) {
        return absl::InvalidArgumentError(place_of(path, value) + ": settings stand without sections, not in [" + key +
                                          "]");
      }
      if (find_setting(key) == nullptr) return unknown_key(place_of(path, value), key);
      auto text = text_of(value);
      if (!text.ok()) {
        return absl::InvalidArgumentError(place_of(path, value) + ": " + key + " " +
                                          std::string(text.status().message()));
      }
      // Checked here too: only here is the line known.
      NodeConfig scratch;
      SCYPER_RETURN_IF_ERROR(apply({{key, *text}}, place_of(path, value), &scratch));
      assignments.emplace_back(key, *std::move(text));
    }
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(path + ": " + error.what());
  }
  return assignments;
}

StatusOr<std::vector<Assignment>> read_config_environment(char** environment) {
  std::vector<Assignment> assignments;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (!text.starts_with("SCYPER_") || equals == std::string_view::npos) continue;
    std::string name(text.substr(0, equals));
    std::string key;
    for (char c : name.substr(7)) key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    // Kubernetes gives every pod such variables for a service called "scyper"; the others belong to the clients.
    if (key.starts_with("service_") || key.starts_with("port") || key == "config" || key == "target" || key == "ca")
      continue;
    if (key.starts_with("test_")) continue;  // tests
    if (find_setting(key) == nullptr) return unknown_key("environment variable " + name, key);
    assignments.emplace_back(key, text.substr(equals + 1));
  }
  return assignments;
}

StatusOr<NodeConfig> make_config(const std::vector<Assignment>& file, const std::vector<Assignment>& environment,
                                 const std::vector<Assignment>& flags) {
  NodeConfig config;
  SCYPER_RETURN_IF_ERROR(apply(file, "configuration file", &config));
  SCYPER_RETURN_IF_ERROR(apply(environment, "environment", &config));
  SCYPER_RETURN_IF_ERROR(apply(flags, "command line", &config));
  SCYPER_RETURN_IF_ERROR(check_multicast(config));
  SCYPER_RETURN_IF_ERROR(check_subscription(config));
  SCYPER_RETURN_IF_ERROR(check_cluster(config));
  return config;
}

std::string print_config(const NodeConfig& config) {
  std::string out;
  for (const Setting& setting : settings()) {
    out += "# " + setting.help + "\n" + setting.key + " = " + setting.get(config) + "\n\n";
  }
  return out;
}

std::string settings_reference() {
  const NodeConfig defaults;
  std::string out =
      "# Settings of a node\n\n"
      "Made from the program by `scyper man configuration`: change `server/settings.cc`, then make it anew.\n\n"
      "Each setting has one name: `queue_capacity` of the TOML file (`scyperd --config FILE`), flag "
      "`--queue-capacity`, variable\n"
      "`SCYPER_QUEUE_CAPACITY`. Flags win over variables, variables over the file. Sizes are like `8GB` or `512 MiB`, "
      "times like `1.5s` or\n"
      "`200ms`. `scyperd --print-config` prints what results.\n";
  std::string group;
  for (const Setting& setting : settings()) {
    if (setting.group != group) {
      group = setting.group;
      out += "\n## " + group + "\n| setting | default | what it is |\n| --- | --- | --- |\n";
    }
    out += "| `" + setting.key + "` | `" + setting.get(defaults) + "` | " + setting.help + " |\n";
  }
  return out;
}

}  // namespace scyper::server
