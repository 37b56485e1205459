#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs.h"

namespace scyper::client {

// A drill: nodes of its own that elect their primary, load, faults, and an audit of what was acknowledged.
struct DrillOptions {
  // Of drill_kinds(); "all": each with nodes of its own; "all-in-turn": one fault of each after the other
  std::string kind = "kill-primary";
  std::vector<std::string> kinds;  // of all-in-turn, when not all
  uint32_t repeat = 10;
  uint32_t seconds = 0;  // all-in-turn goes on so long, with an audit after each turn; 0: as `repeat` says
  uint32_t nodes = 3;
  uint32_t writers = 4;
  uint32_t rate = 0;        // transactions a second of the load, at most; 0: as many as there can be
  uint32_t historians = 3;  // 0: no histories
  std::string commit_mode = "quorum_durable";
  std::string lease_ttl = "2s";
  std::string directory;  // of data, messages and the journal; empty: one that goes at the end when all was well
  std::string report;     // directory for report.json and report.md; empty: none
  uint32_t floor = 20;    // acknowledged transactions before each fault, or the drill is void
  uint64_t seed = 0;      // of what is left to chance; 0: a new one
  bool is_told = false;   // what happens, as it happens
};
// {"drill", "commit_mode", "faults", "rto_ms_p50", "rto_ms_p99", "acknowledged", "lost", "duplicated", "violations"}.
// kExitCheck when anything acknowledged is lost or done twice, or nodes differ.
int run_drill(const CommonOptions& common, const DrillOptions& options);
const std::vector<std::string>& drill_kinds();

// The auditor: a process of its own that writes through ClusterClients and keeps its own journal, until SIGTERM, and
// beside it JOURNAL.history (drill_history.h).
struct AuditorOptions {
  std::string targets;  // separated by commas
  std::string journal;
  uint32_t writers = 4;
  uint32_t rate = 0;
  uint32_t historians = 0;
  uint64_t seed = 1;
};
int run_auditor(const CommonOptions& common, const AuditorOptions& options);

}  // namespace scyper::client
