#pragma once

#include <cstdint>
#include <string>

#include "cluster_place.h"
#include "programs.h"

namespace scyper::client {

// Nodes come and go while a cluster runs (docs/failover.md, Change of voters). A node that is started with the
// cluster's name follows as a learner; these say who votes. None waits longer than its time.
struct MemberOptions {
  ClusterPlace place;
  std::string node;
  uint32_t timeout_ms = 600'000;  // until it has caught up, and the change has taken effect
};

// All nodes that etcd knows of: address, role, whether they vote, where their logs end.
int run_members(const CommonOptions& common, const ClusterPlace& place);
// A learner that has caught up becomes a voter.
int run_member_add(const CommonOptions& common, const MemberOptions& options);
// A voter becomes a learner, or is gone already. The primary hands over.
int run_member_remove(const CommonOptions& common, const MemberOptions& options);

}  // namespace scyper::client
