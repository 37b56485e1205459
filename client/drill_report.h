#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace scyper::client {

// What one kind of drill has found.
struct DrillReport {
  std::string kind;
  std::string commit_mode;
  uint32_t faults = 0;
  std::vector<double> rto_ms;  // of each: until transactions were acknowledged again (docs/failover.md, Drills)
  // Of transactions during those faults that take no primary away, or only for a moment; by the faults' kind.
  std::map<std::string, std::vector<double>> commit_ms;
  uint64_t acknowledged = 0;
  uint64_t operations = 0;  // in histories
  uint64_t lost = 0;
  uint64_t duplicated = 0;
  uint64_t violations = 0;
  uint64_t seed = 0;                  // of what is left to chance; 0: nothing is
  std::string resources;              // of the nodes, before and after; empty: not compared, nor
  double memory_drift = 0;            // the memory, as a share; is to be within kMemoryDriftMax
  bool has_returned = true;           // the descriptors and children
  std::vector<std::string> findings;  // for people; the first of them

  // One more of `count`.
  void find(uint64_t* count, const std::string& finding);
  double percentile(double share) const { return percentile_of(rto_ms, share); }
  // The value that so much of them do not exceed.
  static double percentile_of(const std::vector<double>& values, double share);
  static constexpr double kMemoryDriftMax = 0.02;
  bool holds_resources() const { return has_returned && memory_drift <= kMemoryDriftMax; }
  bool is_clean() const { return lost == 0 && duplicated == 0 && violations == 0; }
};

// One object; of several drills {"drills": [...]}.
std::string drill_json(const std::vector<DrillReport>& reports);
std::string drill_markdown(const std::vector<DrillReport>& reports);
// report.json and report.md there; the directory is made where it is not there.
Status write_drill_reports(const std::string& directory, const std::vector<DrillReport>& reports);

}  // namespace scyper::client
