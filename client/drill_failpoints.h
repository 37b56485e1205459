#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "elected_nodes.h"

namespace scyper::client {

// Where a node of a cluster can be killed (base/failpoint.h): the steps of elections, of becoming primary, of coming
// back, and of a commit that others copy.
const std::vector<std::string>& drill_failpoints();

// What a kill at a failpoint needs of a drill.
struct FailpointSite {
  ElectedNodes* nodes;
  std::function<StatusOr<size_t>()> find_primary;  // once all others follow it; fails when a process has ended
  std::function<void(size_t)> switch_over;         // to that node; it may die meanwhile, or the primary
};
// Starts a node again that ends at that place, and has it follow, vote, be elected, lead and hand over until it has;
// then starts it as it was. False: it never came there.
StatusOr<bool> kill_at_failpoint(const FailpointSite& site, const std::string& name, size_t node);

}  // namespace scyper::client
