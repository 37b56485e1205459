#include "cluster_place.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cluster_client.h"

namespace scyper::client {

using consensus::ClusterKeys;

namespace {
constexpr int kNodeMs = 500;
constexpr int64_t kEtcdUs = 3'000'000;
}  // namespace

Status refused(const std::string& why, const std::string& hint) {
  const Status status = sql_error("55000", why);
  return hint.empty() ? status : with_hint(status, hint);
}

Status etcd_error(const Status& status) {
  return with_hint(sql_error("08006", absl::StrCat("etcd: ", status.message())),
                   "Nothing is decided without etcd: look at its members.");
}

StatusOr<NodeStatus> status_of(const CommonOptions& common, const std::string& address) {
  ConnectOptions to = common.connect;
  to.target = address;
  to.connect_timeout_ms = kNodeMs;
  to.fails_when_refused = true;
  SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(to));
  return client->status(kNodeMs);
}

namespace {

Status find_place(const CommonOptions& common, ClusterPlace* place) {
  if (!place->etcd.empty() && !place->cluster.empty()) return Status();
  Status last = sql_error("08001", "no node is given");
  for (const std::string& target : split_targets(common.connect.target)) {
    const auto status = status_of(common, target);
    last = status.status();
    if (!status.ok()) continue;
    if (status->election.empty()) {
      last = refused(target + " belongs to no cluster with elections", "");
      continue;
    }
    if (place->cluster.empty()) place->cluster = status->election;
    if (place->etcd.empty()) place->etcd = status->etcd;
    return Status();
  }
  return with_hint(last, "Name other nodes by --target, or the cluster by --etcd and --cluster.");
}

}  // namespace

StatusOr<Cluster> open_cluster(const CommonOptions& common, ClusterPlace place) {
  SCYPER_RETURN_IF_ERROR(find_place(common, &place));
  if (!consensus::is_key_name(place.cluster)) return sql_error("22023", place.cluster + " is no name of a cluster");
  auto options = consensus::etcd_options_of(place.etcd, place.etcd_ca, place.etcd_cert, place.etcd_key);
  options.call_us = kEtcdUs;
  Cluster cluster;
  auto etcd = consensus::Etcd::make(options);
  if (!etcd.ok()) return etcd_error(etcd.status());
  cluster.etcd = *std::move(etcd);
  cluster.keys = std::make_unique<ClusterKeys>(cluster.etcd.get(), place.cluster, "by-hand");
  return cluster;
}

StatusOr<ClusterKeys::Seen> read_keys(const Cluster& cluster) {
  auto seen = cluster.keys->read();
  if (seen.ok()) return seen;
  if (absl::IsNotFound(seen.status())) return refused("etcd has no cluster of that name", "See --cluster.");
  return etcd_error(seen.status());
}

}  // namespace scyper::client
