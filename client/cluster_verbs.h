#pragma once

#include <cstdint>
#include <string>

#include "cluster_place.h"
#include "programs.h"

namespace scyper::client {

// What is done to a cluster by hand (docs/failover.md, By hand): by keys in etcd, so that it works without a primary
// and without a node that answers. None waits longer than its time; what was asked for and not begun then is taken
// back.
struct SwitchoverOptions {
  ClusterPlace place;
  std::string to;                // empty: who has most
  uint32_t timeout_ms = 10'000;  // for all of it
  uint32_t drain_ms = 2'000;     // that the primary may be closed for, before it goes on as it was
};
// {"primary", "term", "ms"}. kExitError: there is no primary, it refuses, or another node has become primary.
int run_switchover(const CommonOptions& common, const SwitchoverOptions& options);

// No automatic election from then on; a primary that is there goes on.
int run_pause(const CommonOptions& common, const ClusterPlace& place);
int run_resume(const CommonOptions& common, const ClusterPlace& place);

// Where nobody leads: says who can and what may be lost; appoints that node when `is_confirmed`.
struct FailoverOptions {
  ClusterPlace place;
  std::string to;  // empty: who has most
  bool is_confirmed = false;
  uint32_t timeout_ms = 60'000;  // until it leads
};
int run_failover(const CommonOptions& common, const FailoverOptions& options);

}  // namespace scyper::client
