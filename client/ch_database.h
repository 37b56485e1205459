#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "client/ch/generator.h"
#include "session.h"

namespace scyper::client {

struct ChDatabaseOptions {
  ch::GeneratorOptions generator;
  std::string layout;     // "row" or "column"; empty = the node's default
  unsigned threads = 2;   // that generate and load
  bool is_quiet = false;  // no progress bar
};

struct ChLoadResult {
  uint64_t rows = 0;
  double seconds = 0;
};

// CH-benCHmark's tables (partitioned by warehouse), procedures and data.
StatusOr<ChLoadResult> create_ch_database(Session* session, const ch::Generator& generator,
                                          const ChDatabaseOptions& options);

struct ConsistencyReport {
  struct Violation {
    std::string name;  // "10a"
    std::string meaning;
    uint64_t rows = 0;  // that violate it; 0 = it failed to run
    std::string error;
  };
  int checked = 0;
  std::vector<Violation> violations;
};

// TPC-C's consistency conditions as SQL. after_load: nothing has run yet, so condition 11 holds too.
ConsistencyReport check_consistency(Session* session, const ch::Scale& scale, bool after_load);

}  // namespace scyper::client
