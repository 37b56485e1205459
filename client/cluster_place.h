#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "consensus/cluster_keys.h"
#include "consensus/etcd.h"
#include "programs.h"

namespace scyper::client {

// Where a cluster's etcd is; empty: a node of --target says so.
struct ClusterPlace {
  std::string etcd;     // host:port,host:port
  std::string cluster;  // its name there
  std::string etcd_ca;  // PEM files
  std::string etcd_cert;
  std::string etcd_key;
};

// The keys of a cluster.
struct Cluster {
  std::unique_ptr<consensus::Etcd> etcd;
  std::unique_ptr<consensus::ClusterKeys> keys;
};
StatusOr<Cluster> open_cluster(const CommonOptions& common, ClusterPlace place);
StatusOr<consensus::ClusterKeys::Seen> read_keys(const Cluster& cluster);

// The status of the node at an address, within half a second.
StatusOr<NodeStatus> status_of(const CommonOptions& common, const std::string& address);

// 55000: not in this state of the cluster.
Status refused(const std::string& why, const std::string& hint);
// As etcd's client says it, for people.
Status etcd_error(const Status& status);

}  // namespace scyper::client
