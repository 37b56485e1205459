#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs.h"

namespace scyper::client {

// A drill: nodes of its own that elect their primary, load, faults, and an audit of what was acknowledged.
struct DrillOptions {
  std::string kind = "kill-primary";  // of drill_kinds(), or "all": one after the other
  uint32_t repeat = 10;
  uint32_t nodes = 3;
  uint32_t writers = 4;
  std::string commit_mode = "quorum_durable";
  std::string lease_ttl = "2s";
  std::string directory;  // of data, messages and the journal; empty: one that goes at the end when all was well
  std::string report;     // directory for report.json and report.md; empty: none
  uint32_t floor = 20;    // acknowledged transactions before each fault, or the drill is void
};
// {"drill", "commit_mode", "faults", "rto_ms_p50", "rto_ms_p99", "acknowledged", "lost", "duplicated", "violations"}.
// kExitCheck when anything acknowledged is lost or done twice, or nodes differ.
int run_drill(const CommonOptions& common, const DrillOptions& options);
const std::vector<std::string>& drill_kinds();

// The auditor: a process of its own that writes through ClusterClients and keeps its own journal, until SIGTERM.
struct AuditorOptions {
  std::string targets;  // separated by commas
  std::string journal;
  uint32_t writers = 4;
};
int run_auditor(const CommonOptions& common, const AuditorOptions& options);

}  // namespace scyper::client
