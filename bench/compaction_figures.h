#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace scyper::bench {

struct CompactionFlags {
  uint64_t orders = 100'000;
  uint64_t values = 100'000'000;
  uint64_t lookups = 1'000'000;
  uint64_t lines = 3'600'000;
  int repeat = 3;
  uint64_t seed = 20121;
};

// Each an array of rows, the paper's numbers under "paper_...".
nlohmann::ordered_json measure_sizes(const CompactionFlags& flags);         // 5.5
nlohmann::ordered_json measure_runs(const CompactionFlags& flags);          // 5.6.2
nlohmann::ordered_json measure_prefix_scans(const CompactionFlags& flags);  // 5.6.3
nlohmann::ordered_json measure_decoding(const CompactionFlags& flags);      // by scheme: ns per value

}  // namespace scyper::bench
