#pragma once

#include "programs.h"

namespace CLI {
class App;
}

namespace scyper::client {

// `scyper bench compaction` and what it takes, without what benchmarks have in common.
CLI::App* add_compaction_flags(CLI::App* group, CompactionBenchOptions* options);
// `scyper bench tiering`, likewise.
CLI::App* add_tiering_flags(CLI::App* group, TieringBenchOptions* options);

}  // namespace scyper::client
