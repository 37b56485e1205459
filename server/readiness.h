#pragma once

#include <cstdint>
#include <mutex>

#include "base/status.h"
#include "node_parts.h"

namespace scyper::server {

// Whether a node should be given work: a secondary that is joined and not too far behind; a primary whose workers
// answer, whose log takes writes, and whose commits are confirmed. What /readyz says. Threads: any.
class Readiness {
 public:
  explicit Readiness(NodeParts* node) : node_(node) {}
  // OK, or why not.
  Status check();
  // For proxies that choose by role, as Patroni's /primary and /replica: OK for a primary, ready or not (who else could
  // take its work), and for a secondary that is ready.
  enum class Role : uint8_t { kPrimary, kReplica };
  Status check_role(Role wanted);

 private:
  Status check_primary();
  Status check_commits(uint64_t last_lsn, uint64_t confirmed_lsn);

  NodeParts* const node_;
  std::mutex mutex_;
  uint64_t confirmed_lsn_ = 0;     // when it was last seen to rise, or nothing waited,
  int64_t confirmed_seen_ns_ = 0;  // which was then
};

}  // namespace scyper::server
