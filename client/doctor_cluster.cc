#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cluster_place.h"
#include "doctor.h"

// The cluster that a node's configuration names, as etcd has it.
namespace scyper::client {

namespace {

using Level = Finding::Level;

constexpr char kHandAdvice[] =
    "Start the missing voters, or these with their old disks. Where they are lost, or the log or etcd is a restored "
    "one: scyper failover shows who has what, scyper failover --confirm makes one primary.";

}  // namespace

// An incomplete voter may lack what it acknowledged, so it elects nobody.
Finding examine_voters(const consensus::ClusterKeys::Seen& seen) {
  std::vector<std::string> missing, lacking;
  size_t complete = 0;
  for (const std::string& voter : seen.config.voters.names) {
    const auto member = seen.members.find(voter);
    if (member == seen.members.end()) {
      missing.push_back(voter);
    } else if (member->second.member.is_complete) {
      ++complete;
    } else {
      lacking.push_back(voter);
    }
  }
  Finding found{Level::kGood, "voters",
                absl::StrCat(complete, " of ", seen.config.voters.names.size(), " are there and complete"), ""};
  if (!lacking.empty()) absl::StrAppend(&found.what, "; ", absl::StrJoin(lacking, ", "), " incomplete");
  if (!missing.empty()) absl::StrAppend(&found.what, "; ", absl::StrJoin(missing, ", "), " not there");
  if (seen.view.term == 0 || (lacking.empty() && missing.empty())) return found;
  const bool is_stuck = complete < seen.config.voters.fence_answers() && !seen.view.leader.has_value();
  found.level = is_stuck ? Level::kBad : Level::kWarning;
  if (is_stuck) absl::StrAppend(&found.what, ": NOBODY CAN BE ELECTED");
  found.advice = is_stuck ? kHandAdvice
                 : lacking.empty()
                     ? "Start them: a failover needs a majority of complete voters."
                     : "An incomplete voter counts again once it has caught up with the primary (docs/failover.md).";
  return found;
}

std::vector<Finding> examine_cluster(const server::NodeConfig& config) {
  const server::ClusterSettings& settings = config.cluster;
  if (settings.name.empty()) return {{Level::kSkipped, "voters", "no cluster with elections", ""}};
  const auto cluster =
      open_cluster({}, {settings.etcd, settings.name, settings.etcd_ca, settings.etcd_cert, settings.etcd_key});
  const auto seen = cluster.ok() ? read_keys(*cluster) : cluster.status();
  if (absl::IsFailedPrecondition(seen.status()))
    return {{Level::kSkipped, "voters", "etcd has no such cluster yet", ""}};
  if (!seen.ok()) {
    return {{Level::kWarning, "voters", std::string(seen.status().message()),
             "Nothing is elected without etcd: look at its members."}};
  }
  return {examine_voters(*seen)};
}

}  // namespace scyper::client
